"""Topics of health, which must not be learnt about a person; and weights of a survey."""

from __future__ import annotations

from shoal.find.names.topics import Topic
from shoal.model.roles import Role

S, N = Role.SENSITIVE, Role.INSENSITIVE

WEIGHTS: tuple[Topic, ...] = (
    Topic(
        "survey_weight",
        N,
        "survey weight",
        "number",
        0.88,
        "*wgt wght* ipond* *pondi "
        "coef* coeff* extrapol* gewogen facteur+pond* pesos+muestr* fnlwgt finalwgt finalwt sampling+weight sample+weight "
        "sampweight survey+weight design+weight dweight pweight pspwght pwght anweight wgt wgts weights wgtp pwgtp perwt "
        "hhwt asecwt wtsupp wtfinl wtssall wtssnr wtss wtmec* wtint* wtmec2yr wtint2yr llcpwt finalweight final+weight "
        "person+weight personweight weight+final expansion+factor pond* ponderacion ponderador poids+sond* poids* "
        "poids+final factor+expansion fac+exp fexp fexp* factorexp facexp factor+ponder* factorel peso+campion* "
        "peso+final* peso+amostral peso+ponder* gewichtung* gewichtungsfaktor hochrechnungs* hrf phrf hgew pgew "
        "wegingsfactor weegfactor weging coefficient+pond* extri extridf coef+elev* elevation+factor replicate+weight "
        "repwt* repwgt* wt+final statwt raking+weight ipw nrwt psweight poststrat* v005 hv005 wgtadj trimmed+weight "
        "calib+weight* bweight nweight gweight cweight",
    ),
)

HEALTH: tuple[Topic, ...] = (
    Topic(
        "sexual",
        S,
        "sexual orientation or life",
        "nominal",
        0.9,
        "sexual* orientation sexuality sexorientation sex+orient* same+sex samesex sex+ever sexever sex+age sexage "
        "sex+num* sexnum* partners partnr* numwomen nummen contracep* gay lesbian lgb* transgender romantic hetero* "
        "sexfreq condom* intercourse virgin* dating",
    ),
    Topic(
        "pregnancy",
        S,
        "pregnancy or births",
        "",
        0.85,
        "*exprg *pregn gestante* premie* prematur* preterm* "
        "pregn* grossesse embaraz* gravid* schwanger* zwanger* npregnan* nbabies gestation* parity abort* miscarr* "
        "birthweight birth+weight bwt bweight+g low+birth apgar fertility menopaus* menarche breastfe* babies livebirth* "
        "stillbirth* age1stbaby prenatal* postpartum gestat* delivery+type cesarean",
    ),
    Topic(
        "mental",
        S,
        "mental health",
        "",
        0.88,
        "mental* depress* anxi* stress* suicid* psych* phq* gad7 loneli* lonely burnout wellbeing well+being happiness "
        "happy cesd* ces+d bdi selfesteem self+esteem mood hopeless* autis* austim asd adhd ptsd schizo* bipolar panic therap* "
        "trauma =sad sleep* insomnia",
    ),
    Topic(
        "habits",
        S,
        "smoking, drinking or drugs",
        "",
        0.85,
        "cig cigs smok* tobac* cigar* nicot* rauch* tabac* tabaq* tabag* "
        "rokt* fuma* fumador roken rook* alco* alc drink* trink* beber boire "
        "bever* "
        "drugs drug+use drug+abuse marij* cannabis cocaine heroin opioid* harddrugs hard+drugs substance vape* vaping "
        "crack meth ecstasy amphet* mushrooms lsd ketamine inhalant* addict* snus packyears pack+years gambl* drunk* "
        "binge*",
    ),
    Topic(
        "drug",
        S,
        "medicine",
        "nominal",
        0.88,
        "masern* measles rougeole sarampion immuni* "
        "medicat* medicine* medic drug* meds med rx prescri* dose dosage atc ndc arznei* medikament* medicament* medicij* "
        "farmac* farmaco remedio insulin* vaccin* vacun* impf* statin antibio* chemo* steroid* aspirin warfarin heparin "
        "opiate* paracetamol ibuprofen *formin *gliptin *glitazone *glinide *gliflozin *glutide *zolamide *azepam *azolam "
        "*statin *sartan *olol *pril *dipine *cillin *mycin *micin *floxacin *cycline *azole *avir *ovir *mab *tinib "
        "*prazole *tidine *oxetine *pramine *triptyline *azine *lukast *terol *asone *olone *onide *parin *xaban "
        "*barbital *caine *mide *zide *ipride *piride *ptyline *codone *morphone *phylline *thiazide *semide *tropium "
        "*setron *triptan *dronate *glipton *butamide *propamide *hexamide *azamide *amide *uride *izide *epiride *arbose "
        "*litol",
    ),
    Topic(
        "health_state",
        S,
        "state of health",
        "ordered",
        0.88,
        "*hlth health health+stat* genhlth general+health self+rated+health srhealth srh healthgen gesundheit "
        "gesundheitszustand sante etat+sante salud estado+salud saude salute stato+salute gezondheid health+rating "
        "perceived+health",
    ),
    Topic(
        "diagnosis",
        S,
        "diagnosis or health",
        "nominal",
        0.9,
        "numchron nchron cegueira surdez baixa+visao contagi* recuperad* "
        "hta epoc dm1 dm2 bpco irc ictus avc erc cronic* chroni* das ghm ghs igs* ccam* forderbedarf* sonderpad* "
        "special+need* sen+status causabas causa+bas* linha+a linhaa linhab linhac linhad "
        "aeacn* aerel* aeout aetoxgr* snomed* read+code readcode qof* "
        "=ill =illness =malade =enfermo =ziek =doente =malato "
        "incapac* invalid* handicap* mdph behinderung* grad+behinderung gdb discapac* deficienc* disabilit* gravita* grav "
        "gravedad* schweregrad* ernst+ziekte aeterm aesev aeser aedecod aellt aebodsys mhterm mhdecod ae+* adverse* "
        "side+effect* icpc* hauptdiagnose* nebendiagnose* nebendiag* diagnose* diagnostico* diagnosi* diagnostic* ecog "
        "karno* kps inj inj+sev* injsev doa =lesion "
        "karnofsky asa+class asa+score nyha* pathologie* patologia* diagnos* diag diag* dx dx1 icd icd* disease* illness* "
        "sick* condition* comorb* charlson* elixhauser disorder* symptom* complaint* reason+for+visit chief+comp* cancer* "
        "tumor* tumour* carcino* malign* neoplas* metasta* stage* staging grade+tumor histolog* leuk* lymph* hiv aids "
        "neumon* polmonit* longontst* lungenentz* asma asmat* hipertens* ipertens* hypertonie* bluthoch* inmun* immuno* "
        "intub* uci obesidad* obesid* adiposit* cardiopat* cancro* krebs* kanker* diabetic* zuckerkr* sobrepeso surpoids "
        "apople* berocc* avc+* nefrop* renale* "
        "hepat* tuberc* tb covid* sars infect* sepsis pneumon* influenza "
        "flu malaria dengue zika =std stds sti stis syphil* diab* "
        "hypert* hyperten* htn bphigh* heart* cardi* chd cvd cvr chf =mi infarct* stroke* angina arrhyth* afib coronary "
        "vascular* copd asthma* bronch* lung* pulmon* renal* kidney* ckd dialysis liver* cirrh* gastr* ulcer* arthr* "
        "rheum* osteo* fractur* injur* wound* accident+type allerg* allergy anemi* anaem* thyroid* epilep* seizure* "
        "migrain* headache* pain* pijn* schmerz* douleur* dolor* =dor dores "
        "dementia alzheim* parkinson* sclerosis disab* behinder* disable* deaf* =dis blind* "
        "hearing vision impair* deficien* krankheit* erkrank* ziekte* maladie* enfermedad* malattia* doenca* krank* "
        "gesund* gezond* sante salud saude salute health* hlth* genhlth srhealth physhlth menthlth general+health "
        "chronic* limit+activ* adl* iadl* frail* mobility+aid obes* overweight condhist family+history famhist* famhx* "
        "fhx hx history+of anamnes* antecedent* drg ms+drg mdc apr+drg ccs* problem* finding* morbid* syndrome* lesion* "
        "=nodes =node relapse* recurren* remission progress* surviv* prognos* thal exang slope oldpeak restecg thalach "
        "*itis *oma+type *emia *opathy",
    ),
    Topic(
        "outcome",
        S,
        "outcome or death",
        "",
        0.8,
        "*dischargestatus *dischargelocation *dischargedisposition "
        "dthfl dth+fl dthdy decesso* entlassgrund* entlassungsgrund* entlassart* verweildauer* verblijfsduur ligduur "
        "duree+sejour estancia degenza pfs* os+days osdays death* dead died deceased mort* expire* vital* alive los "
        "length+of+stay lengthofstay =stay readmi* rehosp* outcome* icu discharge+loc* discharge+type discharge+disp* "
        "discharge* disposition disp disch* entlass* ontslag* egreso alta complication* survival* status+death fatal* "
        "verstorben overleden deces defuncion obito decesso cause+of+death time+in+hospital days+hosp* severity acuity "
        "triage* esi apache saps sofa gcs futime fustat follow+up followup =event",
    ),
    Topic(
        "care",
        S,
        "treatment or use of care",
        "",
        0.75,
        "urgencias* urgences acte* actes hospitaliz* ingresos+hosp* "
        "pflegegrad* pflegestufe* pflege* soins* cuidados* zorg* consult* konsult* motivo+consulta motif+consultation "
        "besuchsgrund treat* behandl* tratam* traitement trattamento procedure* proc procs cpt hcpcs surg* operation* "
        "operat* ops interven* inpatient* outpatient* emergency er+visits ed+visits hospitali* hosp+visits doctor+visits "
        "visits visit+count visits+n* n+visits transplant* ventil* dialys* screening mammog* colonosc* biops* xray mri "
        "ct+scan radiat* radio* hormon* implant* prosthes* rehab* hospice chemoth* physio* nursing care+type caresetting "
        "gp+visits dental* dentist checkup hospital+days utiliz* number+outpatient number+emergency number+inpatient",
    ),
    Topic(
        "lab",
        S,
        "a medical measurement",
        "number",
        0.8,
        "test+name analyte* loinc* component+name abnormal+flag abnormal* reference+range ref+range "
        "lab labs labtest* laborat* glu* gluc* glyc* hba1c a1c* hemoglob* haemoglob* hgb hb hct hematoc* platelet* wbc "
        "rbc leuko* neutro* creat* scr bun urea uric albumin* bilirub* =alt ast alp ggt sgot sgpt ldh ldl hdl chol* "
        "cholesterol* "
        "triglyc* trig tchol totchol directchol lipid* sodium potassium calcium chlor* magnes* phosph* iron ferrit* tsh "
        "t3 t4 crp esr psa cea ca125 afp troponin bnp inr ptt lactate pco2 po2 fio2 spo2 sao2 o2sat bicarb* anion bp sbp "
        "dbp systol* diastol* bps bpsys* bpdia* bpxsy* bpxdi* trestbps blood* pulse* puls heartrate heart+rate =hr =rr "
        "resp+rate resprate temp* bodytemp temperature+c ecg ekg eeg ejection* fev* fvc bone+dens* t+score serum* plasma* "
        "urine* urin* viral+load cd4* cd8* titer* titre* antibod* antigen* ct+value ct+result cycle+thresh* pcr genotyp* "
        "allele* snp* dna rna gene genes genom* mutation* brca* apoe egfr gfr spirom* result* testresult test+result "
        "befund* resultado* resultat* uitslag* esito nt+probnp vitamin* cortisol insulin+level fpg ogtt igf* "
        "waist+hip+ratio skinfold* skin+thick* skinthick* body+fat bodyfat grip* markers biomark* titr* albuminuria",
    ),
)
