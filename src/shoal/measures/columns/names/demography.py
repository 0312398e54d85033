"""Topics that a neighbour, a colleague or a public list could know: quasi-identifiers."""

from __future__ import annotations

from shoal.measures.columns.names.topics import Topic
from shoal.model.roles import Role

Q = Role.QUASI

BORN: tuple[Topic, ...] = (
    Topic(
        "birth_place",
        Q,
        "place of birth",
        "place",
        0.9,
        "birth+place birthplace place+birth place+of+birth country+birth country+of+birth country+born born+in "
        "born+country birth+country birth+state geburtsort "
        "geburtsland geboorteplaats geboorteland lieu+naissance pays+naissance lugar+nacimiento pais+nacimiento luogo+nascita "
        "naturalidade native+country bpl pobp nativity birthcountry",
    ),
    Topic(
        "birth_date",
        Q,
        "date of birth",
        "date",
        0.95,
        "birth birthdate birthday birthyear birthmonth dob yob geburtsdatum geburtsjahr geburtstag geburt "
        "geboortedatum geboortejaar "
        "geboorte naissance datenaiss* naiss nacimiento fecnac nascita nascimento dtnasc born year+of+birth yrborn dateofbirth "
        "birthyr gebdat gebjahr annais anais mnais",
        3,
    ),
    Topic(
        "age",
        Q,
        "age",
        "number",
        0.95,
        "age ages aged agep agegroup agegrp agecat ageband agerange ageyears ageyrs agemonths agedecade alter altersgruppe "
        "altersklasse leeftijd* edad edades eta idade agecl agegr* ager* ridageyr tranche+age trage grpage faixa+etaria "
        "fascia+eta lebensalter age+at+* ageinyears curage hv105 v012 agea agemarr agekdbrn",
        3,
    ),
)

WHO: tuple[Topic, ...] = (
    Topic(
        "sex",
        Q,
        "sex or gender",
        "nominal",
        0.95,
        "sex sexe sexo sesso gender gndr geslacht geschlecht genre genero genere gend riagendr =kon male female",
    ),
    Topic(
        "title",
        Q,
        "form of address",
        "nominal",
        0.8,
        "prefix title salutation anrede civilite aanhef tratamiento titel honorific",
    ),
    Topic("suffix", Q, "part of a name", "nominal", 0.6, "suffix name+suffix"),
    Topic(
        "marital",
        Q,
        "marital status",
        "nominal",
        0.93,
        "marital* marstat marst marriage married maristat familienstand famstand zivilstand burgerlijke+staat burgstaat "
        "etat+matrimonial matrim* situation+familiale statut+matrimonial estado+civil estadocivil stato+civile civil+status "
        "civil cohab* spouse partner+status pstatus dmdmartl relationship+status ehestand =single divorced widowed =mar v501",
    ),
    Topic(
        "race",
        Q,
        "race or ethnic group",
        "nominal",
        0.9,
        "race races racem rac rachsing ethnicity ethnic* ethnie ethn hispanic* hisp hispan latino etni* raza raca cor+raca etnia "
        "indigena tribe caste rac1p ridreth skin+color color+piel racgr* minority",
    ),
    Topic(
        "nationality",
        Q,
        "nationality or origin",
        "nominal",
        0.9,
        "nationality nationalities nation nationalite nationalit* nacionalidad nacionalidade nazionalita cittadinanza ciudadania "
        "citizen* citizenship citwp staatsangehorigkeit staatsburgerschaft herkunft herkomst origin* foreign* ausland* immigra* "
        "migra* migrant gastarbeiter nativ* country+origin refugee asylum visa+status extranjero brncntr etranger",
    ),
    Topic(
        "language",
        Q,
        "language",
        "nominal",
        0.7,
        "language lang sprache muttersprache taal langue lengua idioma lingua mother+tongue mothertongue lnghom*",
    ),
    Topic(
        "relation",
        Q,
        "relation inside a household or family",
        "nominal",
        0.85,
        "relationship relat relate relation relhead relp kinship parentesco parente stellung+haushalt lien+parente "
        "verwandtschaft "
        "parentela head+of+household hhead guardian custody carer+relation",
    ),
    Topic(
        "family",
        Q,
        "family or household",
        "number",
        0.85,
        "family+size famsize fam+size household+size hhsize hh+size hhsize* hsize npers numpers persons household* num+children "
        "nchild* children child kids kid kidslt* kidsge* childs nkids n+kids kinder kinderzahl anzahl+kinder kinderen enfants "
        "nbenf* nb+enf* hijos nhijos filhos figli dependents dependent dependants dependant dependientes sibsp "
        "siblings sibs sibling "
        "brothers sisters freres soeurs hermanos irmaos fratelli geschwister parch twins hhtype fam+type family+type famtype "
        "familysize family typmen* menage hogar haushalt* huishoud* personas+hogar tamano+hogar householdsize hompop "
        "numadult parents number+of+people people+in sons daughters",
    ),
)

PLACES: tuple[Topic, ...] = (
    Topic(
        "postcode",
        Q,
        "postcode",
        "place",
        0.95,
        "zip zips zipcode zip+code zip5 zip3 postcode* post+code postal postalcode postal+code postleitzahl plz "
        "code+postal codepostal "
        "=cap cep pc4 pc6 pincode codigo+postal codpostal =cp zcta postnummer postnr codice+postale",
        2,
    ),
    Topic(
        "place",
        Q,
        "place of living",
        "place",
        0.9,
        "city cities town* municipality municip* gemeente* gemeinde* commune* comune* ciudad cidade citta ville village* suburb* "
        "district* distrito distretto county counties countyfip* cnty region regions regiao regione provinc* province "
        "provincie provincia prov "
        "state states statecode state+name statefip* st+fips fips fipst stfips stcode neighbourhood* neighborhood* "
        "borough* parish "
        "lsoa* msoa* lad lad* oa11 nuts* stadt stadtteil ort wohnort bundesland kreis landkreis bezirk woonplaats wijk "
        "buurt canton "
        "kanton departement* departamento depto dept+res localidad localita localite localidade barrio bairro "
        "quartiere arrondissement "
        "aglomera* agglo* residence residence+type residenza residencia wohn+ort urban* rural* urbrur locality "
        "location =area area+name area+code area+type areacode  "
        "metro metropolitan metarea cbsa msa puma tract census+tract censustract census+block block+group blockgroup "
        "geoid =geo geography "
        "ward precinct uf estado+residencia cntry cntryname regionname governorate oblast prefecture lga woreda taluk mandal "
        "address+type live+in lives degurba domicil size+of+place =belt community+size migration+reg lieu hometown home+town "
        "embarked embark_town destination+country ubigeo comuna community+area pickup+borough subdivision =division "
        "cluster+location =beat police+beat patrol+beat sector+code cell+id cellid cell+tower celltower cell+site lac+cell",
        2,
    ),
    Topic("country", Q, "country", "place", 0.9, "country countries countrycode country+code =land pays pais paese ctry staat"),
    Topic(
        "moved",
        Q,
        "where or how long somebody lives there",
        "",
        0.7,
        "years+at+address years+at+residence wohn+zeit wohndauer years+resid* residence+since present+residence "
        "time+at+address moved =mobility mig mig1 mobil*+res",
    ),
)

WORK: tuple[Topic, ...] = (
    Topic(
        "education",
        Q,
        "education",
        "ordered",
        0.88,
        "education* educ* edu edulevel edlevel eduyr* eduyears edyears edyrs schl schooling school+level years+school yrs+school "
        "school+years years+education yearsofschooling highest+degree highest+qual* qualification* degree* diplom* bildung* "
        "schulabschluss schulbildung ausbildung* abschluss* opleiding* onderwijs* niveau+etude* niv+etud* etud nivet "
        "niveau+diplome etudes "
        "nivel+ed* nivel+educ* niveled nivelestudios estudios escolaridad* escolaridade instruccion instrucao titolo+studio "
        "istruzione grado+instruccion isced* eisced edlvdgb dmdeduc* hieduc hiqual hiqualdg literacy literate "
        "analfabet* alfabet* "
        "university uni+degree major faculty field+of+study fod study+program studienfach course+of+study",
    ),
    Topic(
        "occupation",
        Q,
        "occupation",
        "nominal",
        0.88,
        "occupation* occup occ occp occ10 occcode isco* =soc soc2010 profession* profes* job* jobtitle jobrole "
        "job+title beruf* beroep* "
        "functie oficio ocupacion ocupacao trabajo puesto mestiere professione metier csp pcs pcs* catsocpro qualif emploi "
        "funktion taetigkeit tatigkeit position+title designation trade workclass work+class class+of+worker =cow "
        "clwkr classwkr cat+ocup* "
        "worker+type job+category jobcat jobcategory =rank",
    ),
    Topic(
        "industry",
        Q,
        "industry or employer",
        "nominal",
        0.85,
        "industry industries indp naics* =sic nace* branche* branch sector sektor secteur rama+actividad ramo ateco naf "
        "wz08 sbi ind1990 "
        "ind+code employer* company company+name companyname organisation* organization* org+name firm firma entreprise empresa "
        "azienda werkgever arbeitgeber business+travel department departments dept deptid abteilung afdeling business+unit =team "
        "joblevel job+level place+of+work powpuma =business company+type company+size",
    ),
    Topic(
        "employment",
        Q,
        "employment status",
        "nominal",
        0.85,
        "employment* employed empstat emp+status empl* labor+force labour* labforce lfs lfstat ilostat mainact* activity+status "
        "work+status workstat working hours+per+week hours+week weekly+hours hours+worked hrs+worked hrs uhrswork wkhp "
        "workhours work+hours arbeitszeit arbeitsstunden wochenstunden heures+travail horas+trabajo horas+semanales "
        "ore+lavoro uren+per+week hrs1 over+time overtime wrkstat erwerb* beschaft* arbeitslos* unemploy* jobless "
        "retired retire* "
        "pension+status occupied "
        "situation+emploi travail* statut+emploi =activite estado+laboral cond+activ* condicion+actividad ocupado "
        "desempleado condizione+prof* esr wkstat contract contract+type full+time fulltime part+time parttime self+employed "
        "student+status =activity etat+emploi inactiv* =work workstatus uemp* jbstat wrkslf",
    ),
    Topic(
        "tenure",
        Q,
        "how long somebody is with an employer",
        "",
        0.7,
        "tenure years+in+job arbeits+zeit years+employed yearsatcompany years+at+company years+with+* yearswith* "
        "yearsin* yearssince* total+working+years "
        "totalworkingyears job+tenure seniority antiguedad anciennete dienstjahre betriebszugeh* length+of+service "
        "years+of+service employment+length emp+length "
        "experience exper years+experience yearsofexperience berufserfahrung experiencia tot+work* tenureyears "
        "workexp* years+worked service+years joining+year",
    ),
    Topic(
        "hire_date",
        Q,
        "date of hiring or leaving",
        "date",
        0.85,
        "hire+date hiredate dateofhire date+of+hire start+date startdate doj date+of+joining dateoftermination "
        "termination+date term+date enddate+employment eintritt* austritt*",
    ),
    Topic(
        "housing",
        Q,
        "housing",
        "nominal",
        0.75,
        "housing wohn home+own* homeown* homeownership home+rooms homerooms house+type housetype rent+own own+rent "
        "ownrent own+house tenure+type dwelling* roof* wall walls floor+material water+source drinking+water toilet* "
        "electr* sanitation heating wohnen wohn+art wohnart "
        "wohnung* wohnform woning* logement vivienda alojamiento moradia abitazione bedrooms rooms hometype "
        "property+type =ten accommodation housing+type "
        "living+arrangement* house building+type bldg yearbuilt year+built",
    ),
    Topic(
        "vehicle",
        Q,
        "vehicle",
        "nominal",
        0.7,
        "vehicle* car cars auto+make auto+model auto+year auto+type =auto veh vehicles+owned make+model",
    ),
    Topic(
        "commute",
        Q,
        "way to =work or school",
        "",
        0.65,
        "commut* travel+time traveltime jwmnp jwtr* jwtrns transport+mode trantime tranwork distance+from+home "
        "distancefromhome commute+distance distance+home reiseweg",
    ),
    Topic(
        "military",
        Q,
        "military service",
        "nominal",
        0.75,
        "military veteran* vetstat vet mil army milsrv militar armed+forces wehrdienst",
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
        "height hgt ht htm htin groesse grosse korpergrosse taille talla estatura altura lengte statur* eye eyes "
        "eyecolor hair haircolor eye+color hair+color bmi imc stature wt body+weight weight+kg weightkg weight+lb* "
        "weight2 gewicht+kg peso+kg bodyweight handed* =tall =build complexion head+circ* headcirc length+cm waist =hip",
    ),
    Topic(
        "facility",
        Q,
        "a hospital, school or other place where somebody was",
        "nominal",
        0.7,
        "clinic+name hospital+name facility+name school+name provider+name practice+name store+name centre+name "
        "center+name department+name clinic* hospital* klinik* ziekenhuis hopital centre center centro facility* facid "
        "provider* prov+id practice* gp+practice ward* unit+type careunit care+unit first+careunit "
        "last+careunit curr+service service+unit ambulatorio school* schule* ecole escuela escola scuola college* "
        "sector+school site site+id siteid institution* etablissement estabelecimento "
        "trust store store+id shop branch+code station* station+id nursing+home prison jail court court+name agency lender* "
        "respondent+bank bank+branch agent* airport terminal "
        "attending* physician* doctor* arzt medecin specialty* speciality* specialism fachrichtung specialite "
        "especialidad medical+spec* spec+med teacher+id instructor professor tutor kindergarten",
    ),
    Topic(
        "event_date",
        Q,
        "date or time of an event that others may know",
        "date",
        0.85,
        "admit* admdate admission+d* admission+time adm+d* dischtime disch+d* discharge+d* discharge+time "
        "date+admission date+discharge death+date deathdate deathtime deathyear date+of+death dod "
        "dischargedate admissiondate visit+date visitdate servicedate service+date date+of+service dos svc+date "
        "procedure+date surgery+date operation+date op+datum aufnahmedatum entlassdatum opnamedatum "
        "ontslagdatum date+entree date+sortie fecha+ingreso fecha+alta fecha+egreso data+ricovero data+dimissione "
        "data+internacao sterbedatum todesdatum date+deces fecha+defuncion "
        "date+of+accident accident+date incident+date arrest+date offense+date offence+date screening+date jail+in "
        "jail+out custody+d* appointment+d* appointmentday scheduledday "
        "appointment* pickup+d* dropoff+d* pickup* dropoff* tpep+* checkin checkout check+in check+out arrival+d* "
        "departure+d* purchase+d* order+d* transaction+d* signup+d* join+d* registration+d* enrol* date+enrol* "
        "event+d* regtime reg+time out+time outtime intime in+time edreg* edout* date+onset onset+d* date+symptom* "
        "diagnosis+date date+of+diagnosis test+date sample+date collection+d* vaccination+d* "
        "pandemic+day study+day days+since* day+of+study datum fecha date data+evento timestamp datetime dt day month "
        "year+of+* wedding* divorce+date",
        3,
    ),
    Topic(
        "insurance",
        Q,
        "kind of insurance or payer",
        "nominal",
        0.7,
        "insurance* payer* payor* health+cover* healthcover* coverage+type krankenkasse kasse kassenart verzekering* "
        "verzekeraar mutuelle obra+social seguro* assicurazione convenio plan+type medicaid medicare hicov hins* "
        "privcov pubcov insur* hlthins policy+type",
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
        "classe+scolaire jahrgang jahrgangsstufe",
    ),
)
