"""Topics that must not be learnt about a person: money, crime, belief, opinion, marks; and topics that say nothing of one."""

from __future__ import annotations

from shoal.find.names.topics import Topic
from shoal.model.roles import Role

S, N = Role.SENSITIVE, Role.INSENSITIVE

MONEY: tuple[Topic, ...] = (
    Topic(
        "income_band",
        S,
        "income group",
        "ordered",
        0.85,
        "income+cat* income+group income+band income+bracket income+level income+quint* income+dec* quintile* quintil* "
        "decile* decil* deciles wealth+index wealth+quint* windex hv270 v190 poverty+cat* indhhin* rincom* rincome "
        "income06 income16 hinctnta socioeconomic ses social+class klasse+sozial nse estrato incomecat* revenu+tranche "
        "tranche+revenu",
    ),
    Topic(
        "income",
        S,
        "income or wage",
        "number",
        0.88,
        "salarisschaal* schaal trede entgeltgruppe* besoldung* tarifgruppe* echelon indice+majore nivel+salarial "
        "livello+retrib* pay+grade pay+band salary+grade "
        "pobreza pauvrete armut* armoede poverta ytot* ingreso* "
        "=rsa caf =apl =aah sozialhilfe burgergeld grundsicherung wohngeld kindergeld bijstand* uitkering* toeslag* "
        "ayuda* beca* aide+* allocation* indemnite* assegno* auxilio* prestacion* income* inc incwage inctot ftotinc "
        "hhincome hhinc hincp pincp wagp wage* wages salar* salary earn* earnings pay monthly+rate hourly+rate daily+rate "
        "hourlyrate dailyrate monthlyrate payrate pay+rate compensation bonus* einkomm* gehalt* lohn* verdienst* inkomen* "
        "loon salaris brutto* netto* revenu* salaire* traitement+brut renta renda rendimento ingres* sueldo* salari* "
        "stipend* reddito* retribu* pension* rente rentes retraite+mont* pensioen* benefit* welfare social+assist* "
        "*income finc hinc faminc* freelun* free+lun* lunch+subs* "
        "foodstamp* food+stamp* =snap ssip ssp =pap sueldos jubilacion subsid* unemployment+benef* bolsa+familia poverty* "
        "povpip percapita per+capita capital+gain capital+loss capitalgain capitalloss cap+gain dividends stock+option* "
        "stockoption* percent+salary+hike percentsalaryhike hike tips annual+inc* annualincome monthlyincome "
        "householdincome median+income",
    ),
    Topic(
        "credit",
        S,
        "credit, debt or bank",
        "",
        0.85,
        "credit* kredit* *kred kred krediet* credito* loan* darlehen lening* emprest* prestam* prestito* pret mortgage* "
        "hypothe* hypothek* hipotec* mutuo debt* schuld* deuda* dette* divida* debit* dti default* default+payment* "
        "default+pay* arrears delinq* delay* overdue installm* rate ratenh* instalment* emi balance* saldo* limit* bill* "
        "payment* pay* paid repay* transaction* trans+amt amount* amt betrag betrage bedrag montant* importo* importe "
        "monto* valor* hoehe laufzeit duration+credit =term term+months fico score+credit creditscore risk risk+score "
        "bank* account* konto* *konto *kont kont acct* compte* cuenta* conta conto checking* saving* spar* epargne "
        "ahorro* sparbuch* deposit* collateral guarantor* guarantee* burgsch* burge garant* cosign* co+applicant coapplicant "
        "zahlungs* schufa bankrupt* insolv* charge+off* action+taken denial* rate+spread lien* loan+purpose purpose "
        "verwendung* zweck vermog* property+value propertyvalue interest+rate int+rate apr equity grant* scholarship* "
        "stipendium tuition fees fee fare tax* steuer+betrag steuern belasting impot* imposto* tassa* subscription "
        "premium* pramie* claim* claims schaden* charges monthlycharges totalcharges totalpayments",
    ),
    Topic(
        "spending",
        S,
        "spending or property",
        "number",
        0.8,
        "expend* expens* spend* spent cost costs kosten cout gasto* despesa* spesa* spese ausgaben uitgaven depense* "
        "price* preis prijs prix precio preco prezzo purchas* consum* asset* wealth vermoegen patrim* invest* rent rents "
        "miete huur loyer alquiler affitto aluguel rentgrs grntp valp property* house+value housevalue insurance+cost "
        "charge total+am* total+paid totpaid reimburs* copay* deduct* coverage* healthcare+* donat* mnt* revenue* sales "
        "turnover profit* net+worth networth umsatz* omzet* fatturato ventas faturamento chiffre+affaires",
    ),
)

CONDUCT: tuple[Topic, ...] = (
    Topic(
        "crime",
        S,
        "crime or court",
        "nominal",
        0.88,
        "contraband* seizure+drugs crim* offen* convict* arrest* charge+degree charge+desc* c+charge* r+charge* recid* "
        "felon* misdemean* misd juv juv+* prior* priors sentence* sentenc* prison* jailed custody* violent* violence* "
        "violen* weapon* assault* theft* police* straf* delikt* delit* delito* reato* crime* incarcer* parole* probat* "
        "verdict guilt* fraud* victim* abuse* bully* harass* is+recid two+year+recid decile+score score+text compas* "
        "v+decile* homicid* compas+screening* stop+reason frisked searched "
        "vehicle+search car+search person+search body+search search+conducted search+basis warrant* infraction* citation",
    ),
    Topic(
        "religion",
        S,
        "religion",
        "nominal",
        0.88,
        "relig* relg rlgblg rlgdgr rlgatnd denom* konfession* faith belief* church* attend+church kirche* kerk* culte "
        "culto croyan* confession* godsdienst* godsd* god godsdienst pray* glaube* bible mosque attend reliten islam "
        "christian muslim jew protestant* catholic*",
    ),
    Topic(
        "politics",
        S,
        "political view or membership",
        "",
        0.85,
        "politic* polit* polviews partyid party* partei* partido* partito* partij vote* voting voter+reg* wahl* voto "
        "election* presiden* candidat* lrscale left+right leftright ideolog* conserv* liberal* democr* republican* union* "
        "unionmem gewerkschaft* syndicat* sindicat* vakbond* trust* trst* ppltrst vertrauen confiance confianza stf* "
        "imwbcnt imbgeco imueclt euftf prtdgcl prtclede gun* abortion* abany abnomore cappun grass natspac nateduc "
        "natheal immigr+att* protest* petition* civic* fepol affrm* racdif* helppoor helpblk",
    ),
    Topic(
        "opinion",
        S,
        "opinion or satisfaction",
        "ordered",
        0.75,
        "opinion* attitud* satisf* zufried* tevred* satisfac* soddisf* insatisf* agree* disagree* likert* prefer* "
        "percept* perceiv* feel* feeling* life+sat* lifesat* jobsat* job+sat* wellb* quality+of+life qol* importan* "
        "wichtig* worry* worries fear* confiden* approv* rating* rate+overall evaluat* recommend* nps expect* intention* "
        "identit* class+ident* subjective+class subclass social+class+id bewert* meinung* environment+satisf* "
        "environmentsatisfaction relationshipsatisfaction worklifebalance work+life+balance job+involvement "
        "jobinvolvement engagement* motivation* likelih* loyalty interest*+in enjoy* pleas* value+ofl*",
    ),
    Topic(
        "marks",
        S,
        "marks, scores or performance",
        "number",
        0.8,
        "versetz* nicht+versetzt "
        "repetidor* repeat*+grade redoubl* repetent* zittenblijv* beoordeling* bewertung* valutazione* evaluacion* "
        "avaliacao* nota+media media+voti conducta condotta comportam* verhalten gedrag "
        "grade* gpa mark marks score* exam* test+score* =sat =act iq note+exam noten note+final nota+final cijfer* punkt* "
        "voto+esame calific* resultado+examen passed fail* failures percentile* performance* performancerating perf+score "
        "perfscore evaluation last+eval* ranking absence* absent* absentee* fehlzeit* verzuim ausencia* attendance "
        "attend+rate dropout* drop+out suspension* detention* discipl* apprais* kpi promot* promotion+last* "
        "training+score achiev* reading+score writing+score math+score credits hrs+study math* reading* writing* "
        "science+score lesen rechnen competenc* aptitude ability skills skill",
    ),
    Topic(
        "leaving",
        S,
        "whether somebody left, bought or answered",
        "nominal",
        0.75,
        "churn* attrition exited =left quit* turnover terminated termd terminat* termreason reasonforterm* "
        "employment+status+left =target =label =class =klass class+label outcome+flag response* responded conversion* "
        "converted =y poutcome subscribed deposit+y no+show noshow cancel* accept* admitted+flag is+fraud complain* "
        "resign* separation* layoff* fired remarks+leave accept+cmp* acceptedcmp*",
    ),
    Topic(
        "family_life",
        S,
        "family life",
        "",
        0.75,
        "famrel fam+rel family+rel* quality+of+family relationship+quality conflict* divorced+parents parent+support "
        "famsup fam+sup schoolsup school+sup domestic foster* adopt* orphan* widowed+mother live+with+parents neglect* "
        "loneliness affair* rate+marriage hapmar",
    ),
)

NOTHING: tuple[Topic, ...] = (
    Topic(
        "technical",
        N,
        "a technical field",
        "",
        0.75,
        "trta trtan trtp trtpn trt01* trtemfl armcd actarm* param paramcd paramn parcat* parcat1n aval avalc avisit* "
        "visitnum ittfl saffl randfl fasfl pprotfl studyid "
        "unidad+medida unit+measure =prob inclusion+prob* selection+prob* =cens censor censored censoring "
        "numerolote lote num+lot lot+number lotnumber chargennr chargennummer "
        "sms sms+* sporder pernum relpos person+order extract+date extraction+date date+extract* reporting+date "
        "result+status lastpage last+page referer referrer dispo+code seen+page* startlang startlanguage submitdate "
        "datestamp refurl ipaddr+type "
        "imput* imputa flag+imp* edit+flag qflag* version* batch* source+file data+source source+system created+* "
        "created* updated+* modified* last+update* load+date loaddate upload* etl insert* checksum filename =file file+id "
        "status+code interview+status intstat int+status interv* interviewer* enumerator* mode+of+int* mode+interview "
        "survey+mode =sample sample+type sampleid+type tat turnaround* orderset order+set data+available drive+thru* "
        "panel wave wave+id welle vague ola round survey+year surveyyr survey+yr syear year survey+month surveyyear "
        "ballot =form formwt issp sddsrvyr cycle ano jahr jaar annee anno =an =yr trimestre trimester quarter quartal "
        "kwartaal trim month+of+survey int+date interview+date intdate date+interview dispcode strat* stratum strata psu "
        "vpsu vstrat sdmvpsu sdmvstra cluster* segment+psu rep+group randomi* =arm arm+code trt+group allocation =control "
        "constant employeecount employee+count standardhours standard+hours over18 over+18 currency unit+of+measure units "
        "iso+code language+version questionnaire* consent* consent+date vendor* store+fwd* store+and+fwd+flag ratecode* "
        "trip+type test+id testid test+type assay device+type channel platform browser =os app+version product* sku "
        "item+id campaign* =contact contact+type =previous pdays emp+var+rate cons+price+idx cons+conf+idx euribor* "
        "nr+employed duration+call line+number lineno linenum rectype record+type =rt hv000 v000 gq gqtype quality+flag",
    ),
    Topic(
        "leisure",
        N,
        "leisure or daily life",
        "",
        0.55,
        "=pet =pets mascota* haustier* huisdier* "
        "sport* hobby hobbies leisure* free+time freetime tv* television* hours+tv heures+tv cinema* movie* film* music* "
        "book* books lectur* lecture =read reading+habit internet* computer* comphrs* games gaming game social+media "
        "facebook instagram go+out goout going+out activities extracurr* nursery club* travel+habit holiday* vacation* "
        "cook* cuisine* kitchen diy bricol* garden* peche chasse fish* hunt* rock dance* danc* theatre museum* newspaper* "
        "=news news* radio+list* podcast* phone+use screen+time diet* food* fruit* veget* meals breakfast water+intake "
        "coffee tea exercis* exerc* physactiv* physical+act* physical+activity walk* steps bike gym study+time studytime "
        "study+hours homework paid+class lessons tutoring",
    ),
)
