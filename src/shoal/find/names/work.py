"""Topics that a colleague or neighbour could know: schooling, work, housing, looks, visits. Quasi-identifiers."""

from __future__ import annotations

from shoal.find.names.topics import Topic
from shoal.model.roles import Role

Q = Role.QUASI

WORK: tuple[Topic, ...] = (
    Topic(
        "education",
        Q,
        "education",
        "ordered",
        0.88,
        "instru grau+instru* yschool yrschool yrsch momed daded mothed fathed "
        "diplome+* dipl =dipl titolo+di+studio nivel+estudios nivel+instruccion nivel+escolaridade niveau+scolaire "
        "schooljaar+* serie+escolar =serie ano+escolar curso+escolar schulform schultyp class+level grade+level "
        "year+group hochster+abschluss education* educ* edu edulevel edlevel eduyr* eduyears edyears edyrs schl schooling "
        "school+level years+school yrs+school school+years years+education yearsofschooling highest+degree highest+qual* "
        "qualification* degree* diplom* bildung* schulabschluss schulbildung ausbildung* abschluss* opleiding* onderwijs* "
        "niveau+etude* niv+etud* etud nivet niveau+diplome etudes nivel+ed* nivel+educ* niveled nivelestudios estudios "
        "escolaridad* escolaridade instruccion instrucao titolo+studio istruzione grado+instruccion isced* eisced edlvdgb "
        "dmdeduc* hieduc hiqual hiqualdg literacy literate analfabet* alfabet* university uni+degree major faculty "
        "field+of+study spec specialisation specialization fod study+program studienfach course+of+study",
    ),
    Topic(
        "occupation",
        Q,
        "occupation",
        "nominal",
        0.88,
        "ocup* oficio* cno cno11 emp+title work+type worktype type+of+work tipo+trabajo "
        "categorie+socio* socioprof* csp* =cs cs1 cs8 cs24 cs42 ocupacao* profissao* cargo puesto+trabajo qualifica "
        "mansione ruolo isco08* occupation* occup occ occp occ10 occcode isco* =soc soc2010 profession* profes* job* "
        "jobtitle =role jobrole job+title beruf* beroep* functie oficio ocupacion ocupacao trabajo puesto mestiere professione "
        "metier csp pcs pcs* catsocpro qualif emploi funktion taetigkeit tatigkeit position+title designation trade "
        "workclass work+class class+of+worker =cow clwkr classwkr cat+ocup* worker+type job+category jobcat jobcategory "
        "=position position+id position+n* position+code =rank",
    ),
    Topic(
        "industry",
        Q,
        "industry or employer",
        "nominal",
        0.85,
        "nace3d nace2d nace1d rama+actividad* attivita+economica settore industry industries indp naics* =sic nace* "
        "branche* branch sector sektor secteur rama+actividad ramo ateco naf wz08 sbi ind1990 ind+code employer* company "
        "company+name companyname organisation* organization* org+name firm firma entreprise empresa azienda werkgever "
        "arbeitgeber business+travel department departments dept deptid abteilung afdeling business+unit team joblevel "
        "job+level place+of+work powpuma =business company+type company+size",
    ),
    Topic(
        "employment",
        Q,
        "employment status",
        "nominal",
        0.85,
        "assignment+cat* "
        "deeltijd* dedeltijd temps+part* tiempo+parcial tempo+parcial jornada+* part+timer beschaftigungsgrad werkuren "
        "contracturen "
        "labor+status labor* laboral+* parco* situ+prof* situacion+prof* "
        "remote+work home+office telework* teletrab* fte ftpt "
        "ft+pt tact situation+professionnelle situation+pro* situacion+laboral situacao+ocupacional "
        "condizione+occup* hwusual hwactual temps+travail temps+partiel temps+plein jornada dienstverband vollzeit "
        "teilzeit beschaftigungs* werkstatus employment* employed empstat emp+status empl* labor+force inlf lfp labour* labforce "
        "lfs lfstat ilostat mainact* activity+status work+status workstat working hours+per+week hours+week weekly+hours "
        "hours+worked hrs+worked hrs uhrswork wkhp workhours work+hours arbeitszeit arbeitsstunden wochenstunden "
        "heures+travail horas+trabajo horas+semanales ore+lavoro uren+per+week hrs1 over+time overtime wrkstat erwerb* "
        "beschaft* arbeitslos* unemploy* jobless retired retire* pension+status occupied situation+emploi travail* "
        "statut+emploi =activite estado+laboral cond+activ* condicion+actividad ocupado desempleado condizione+prof* esr "
        "wkstat contract contract+type full+time fulltime part+time parttime self+employed student+status =activity "
        "selfemp* selfe =hours etat+emploi inactiv* =work workstatus uemp* jbstat wrkslf",
    ),
    Topic(
        "tenure",
        Q,
        "how long somebody is with an employer",
        "",
        0.7,
        "service+time time+service =exp "
        "tenure years+in+job arbeits+zeit years+employed yearsatcompany years+at+company years+with+* yearswith* yearsin* "
        "yearssince* total+working+years totalworkingyears job+tenure seniority antiguedad anciennete dienstjahre "
        "betriebszugeh* length+of+service years+of+service employment+length emp+length experience exper years+experience "
        "yearsofexperience berufserfahrung experiencia tot+work* tenureyears workexp* years+worked service+years "
        "joining+year",
    ),
    Topic(
        "hire_date",
        Q,
        "date of hiring or leaving",
        "date",
        0.85,
        "leaving+date leave+date date+embauche date+entree+entreprise fecha+contratacion fecha+alta+empresa "
        "data+assunzione data+admissao kunde+seit klant+sinds client+depuis cliente+desde cliente+dal customer+since "
        "member+since mitglied+seit hire+date hiredate dateofhire date+of+hire start+date startdate doj date+of+joining "
        "dateoftermination termination+date term+date enddate+employment eintritt* austritt*",
    ),
    Topic(
        "housing",
        Q,
        "housing",
        "nominal",
        0.75,
        "typl stocd tipo+vivienda tipo+alloggio type+logement statut+occupation soort+woning housing wohn home+own* "
        "homeown* homeownership home+rooms homerooms house+type housetype rent+own own+rent ownrent own+house tenure+type "
        "=home dwelling* roof* wall walls floor+material water+source drinking+water toilet* electr* sanitation heating wohnen "
        "wohn+art wohnart wohnung* wohnform woning* logement vivienda alojamiento moradia abitazione bedrooms rooms "
        "hometype property+type =ten accommodation housing+type living+arrangement* house building+type bldg yearbuilt "
        "year+built",
    ),
    Topic(
        "vehicle",
        Q,
        "vehicle",
        "nominal",
        0.7,
        "=make "
        "voit voiture* fahrzeug* vehicul* veicol* voertuig* veiculo* automovil* coche* nb+voit* vehicle* car cars "
        "auto+make auto+model auto+year auto+type =auto veh vehicles+owned make+model",
    ),
    Topic(
        "commute",
        Q,
        "way to work or school",
        "",
        0.65,
        "distance+residence distance+work distance+school distance+trabajo distancia* entfernung* afstand* distanza* "
        "mode+transport trans+mode moyen+transport medio+transporte mezzo+trasporto vervoermiddel verkehrsmittel commut* "
        "travel+time traveltime jwmnp jwtr* jwtrns transport+mode trantime tranwork distance+from+home distancefromhome "
        "commute+distance distance+home reiseweg",
    ),
    Topic(
        "military",
        Q,
        "military service",
        "nominal",
        0.75,
        "*miliz *milit military veteran* vetstat vet mil army milsrv militar armed+forces wehrdienst",
    ),
    Topic(
        "dependency",
        Q,
        "people who depend on somebody",
        "number",
        0.7,
        "=pers unterhaltsp* unterhaltspflichtig* people+liable num+dependents num+dependants dependency",
    ),
)

SEEN: tuple[Topic, ...] = (
    Topic(
        "body",
        Q,
        "a body measure that others can see",
        "number",
        0.65,
        "body+build build+type bodymass* masse+corporelle masa+corporal massa+corporea "
        "height hgt ht htm htin groesse grosse korpergrosse taille talla estatura altura lengte statur* eye eyes eyecolor "
        "hair haircolor eye+color hair+color bmi imc stature wt body+weight weight+kg weightkg weight+lb* weight2 "
        "gewicht+kg peso+kg bodyweight handed* =tall =build complexion head+circ* headcirc length+cm waist =hip",
    ),
    Topic(
        "facility",
        Q,
        "a hospital, school or other place where somebody was",
        "nominal",
        0.7,
        "codestab* cod+estab* finess* siret schid* sch+id schlid "
        "hospitalid wardid clinicid facilityid providerid practiceid schoolid storeid "
        "=inst inst+code institut* cnes cnes+* cgc+hosp "
        "registered+gp =gp gp+code "
        "performing+lab* lab+name laboratory+name laboratoire labor+name ordering+* order+provider "
        "=teacher =trainer =coach =tutor =lehrer =enseignant =docente =leraar "
        "office* niederlassung filiale* agence* oficina* ufficio* kantoor* vestiging* fachabteilung* specialisme reparto* "
        "servicio+medico service+medical npi npi+* rendering+* referring+* huisarts* hausarzt* medico* medecin+traitant "
        "medico+cabecera medico+curante doctor+name betreuer* sachbearbeiter* referent* line+manager manager supervisor* "
        "vorgesetzt* leidinggevende superieur* responsabile supervisore jefe+directo referente+* gestor* kundenbetreuer* "
        "clinic+name hospital+name facility+name school+name provider+name practice+name store+name centre+name "
        "center+name department+name clinic* hospital* klinik* ziekenhuis hopital centre center centro facility* facid "
        "provider* prov+id practice* gp+practice ward* unit+type careunit care+unit first+careunit last+careunit "
        "curr+service service+unit ambulatorio school* schule* ecole escuela escola scuola college* sector+school site "
        "site+id siteid institution* etablissement estabelecimento trust store store+id shop branch+code station* "
        "station+id nursing+home prison jail court court+name agency lender* respondent+bank bank+branch agent* airport "
        "terminal attending* physician* doctor* arzt medecin specialty* speciality* specialism fachrichtung specialite "
        "especialidad medical+spec* spec+med teacher+id instructor professor tutor kindergarten",
    ),
    Topic(
        "event_date",
        Q,
        "date or time of an event that others may know",
        "date",
        0.85,
        "hour minute hour+of+day time+of+day heure stunde hora uur "
        "month+* monat+* mois+* mes+* maand+* mese+* weekday* day+week dia+semana jour+semaine wochentag* seasons season "
        "=ts epoch unixtime unix+time posix+time from+dt thru+dt svc+dt call+start call+end call+time start+time end+time "
        "consultdatum bezoekdatum besuchsdatum untersuchungsdatum behandlungsdatum aufnahmezeit entlasszeit "
        "date+consultation date+visite date+intervention fecha+consulta fecha+visita fecha+atencion data+visita "
        "data+consulta data+atendimento rfstdtc rfendtc *dtc *datum admit* admdate admission+d* admission+time adm+d* "
        "dischtime disch+d* discharge+d* discharge+time date+admission date+discharge death+date deathdate deathtime "
        "deathyear date+of+death dod dischargedate admissiondate visit+date visitdate servicedate service+date "
        "date+of+service dos svc+date procedure+date surgery+date operation+date op+datum aufnahmedatum entlassdatum "
        "opnamedatum ontslagdatum date+entree date+sortie fecha+ingreso fecha+alta fecha+egreso data+ricovero "
        "data+dimissione data+internacao sterbedatum todesdatum date+deces fecha+defuncion date+of+accident accident+date "
        "incident+date arrest+date offense+date offence+date screening+date jail+in jail+out custody+d* appointment+d* "
        "appointmentday scheduledday appointment* pickup+d* dropoff+d* pickup* dropoff* tpep+* checkin checkout check+in "
        "check+out arrival+d* departure+d* purchase+d* order+d* transaction+d* signup+d* join+d* registration+d* enrol* "
        "date+enrol* event+d* regtime reg+time out+time outtime intime in+time edreg* edout* date+onset onset+d* "
        "date+symptom* diagnosis+date date+of+diagnosis test+date sample+date collection+d* vaccination+d* pandemic+day "
        "study+day days+since* day+of+study datum fecha date data+evento timestamp datetime dt day month year+of+* "
        "wedding* divorce+date",
        3,
    ),
    Topic(
        "insurance",
        Q,
        "kind of insurance or payer",
        "nominal",
        0.7,
        "privins pubins priv+ins "
        "kostentrag* versicherungsart versicherungstyp *verzekeraar *verzekering *krankenkasse kassenname "
        "organisme+payeur aseguradora* plano+saude convenio+medico esenzione* mutua* insurance* payer* payor* "
        "health+cover* healthcover* coverage+type krankenkasse kasse kassenart verzekering* verzekeraar mutuelle "
        "obra+social seguro* assicurazione convenio plan+type medicaid medicare hicov hins hinscov privcov pubcov insur* hlthins "
        "policy+type",
    ),
    Topic(
        "arrival",
        Q,
        "how or where somebody came or went",
        "nominal",
        0.6,
        "admission+type admission+source admission+loc* admtype admission adm+type adm+source referral* referred* "
        "arrival+mode mode+of+arrival ambulance patient+class patient+type pat+type entry+mode ed+arrival triage+mode "
        "drg+type visit+type encounter+class aufnahmeart aufnahmegrund",
    ),
    Topic(
        "group",
        Q,
        "a group of people",
        "nominal",
        0.55,
        "demo* demographic* cohort+type segment* group+type population+group user+type customer+type customertype "
        "usertype membership subscriber+type passenger+class pclass curso =klasse schulklasse year+group school+class "
        "class+nr class+no class+id class+number klas+nr klasse+nr classe+scolaire jahrgang jahrgangsstufe",
    ),
)
