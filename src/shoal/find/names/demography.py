"""Topics that a neighbour or a public list could know: birth, sex, family, places. Quasi-identifiers."""

from __future__ import annotations

from shoal.find.names.topics import Topic
from shoal.model.roles import Role

Q = Role.QUASI

BORN: tuple[Topic, ...] = (
    Topic(
        "birth_place",
        Q,
        "place of birth",
        "place",
        0.9,
        "*born4 *born2 *born "
        "nato+a nata+a ne+a nee+a nacido+en geboren+in geboren+te natural+de "
        "birth+pl pob birth+place birthplace place+birth place+of+birth country+birth country+of+birth country+born born+in "
        "born+country birth+country birth+state geburtsort geburtsland geboorteplaats geboorteland lieu+naissance "
        "pays+naissance lugar+nacimiento pais+nacimiento luogo+nascita naturalidade native+country bpl pobp nativity "
        "birthcountry",
    ),
    Topic(
        "birth_date",
        Q,
        "date of birth",
        "date",
        0.95,
        "birth birthdate birthday birthyear birthmonth dob yob geburtsdatum geburtsjahr geburtstag geburt geboortedatum "
        "geboortejaar geboorte naissance datenaiss* naiss nacimiento fecnac nascita nascimento dtnasc born year+of+birth "
        "yrborn dateofbirth birthyr gebdat gebjahr annais anais mnais",
        3,
    ),
    Topic(
        "age",
        Q,
        "age",
        "number",
        0.95,
        "*agemn *ageyr aagegr* agegr* escalao+etario grupo+etario faixa+idade tranche+d+age altersstufe leeftijdsgroep "
        "age ages aged agep agegroup agegrp agecat ageband agerange ageyears ageyrs agemonths agedecade alter "
        "altersgruppe altersklasse leeftijd* edad edades eta idade agecl ageg* ager* ridageyr tranche+age trage grpage "
        "faixa+etaria fascia+eta lebensalter age+at+* ageinyears curage hv105 v012 agea agemarr agekdbrn",
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
    Topic(
        "suffix",
        Q,
        "part of a name",
        "nominal",
        0.6,
        "suffix name+suffix",
    ),
    Topic(
        "marital",
        Q,
        "marital status",
        "nominal",
        0.93,
        "marry maried marr "
        "marsts marsta* burg+staat burg+st* civiele+staat "
        "=partner ecivil* eciv relpp+* est+civ* "
        "marital* marstat marst marriage married maristat familienstand famstand zivilstand burgerlijke+staat burgstaat "
        "etat+matrimonial matrim* situation+familiale statut+matrimonial estado+civil estadocivil stato+civile "
        "civil+status civil cohab* spouse partner+status pstatus dmdmartl relationship+status ehestand =single divorced "
        "widowed =mar v501",
    ),
    Topic(
        "race",
        Q,
        "race or ethnic group",
        "nominal",
        0.9,
        "descent black nonwhite nwhite =white =asian "
        "race races racem rac rachsing ethnicity ethnic* ethnie ethn hispanic* hisp hispan latino etni* raza raca "
        "cor+raca etnia indigena tribe caste rac1p ridreth skin+color color+piel racgr* minority",
    ),
    Topic(
        "nationality",
        Q,
        "nationality or origin",
        "nominal",
        0.9,
        "*citzn *citizn "
        "=cit =citt citt nacional "
        "nationality nationalities nation nationalite nationalit* nacionalidad nacionalidade nazionalita cittadinanza "
        "ciudadania citizen* citizenship citwp staatsangehorigkeit staatsburgerschaft herkunft herkomst origin* foreign* "
        "ausland* immigra* migra* migrant gastarbeiter nativ* country+origin refugee asylum visa+status extranjero "
        "brncntr brn* etranger",
    ),
    Topic(
        "language",
        Q,
        "language",
        "nominal",
        0.7,
        "language* lang speaks spoken+lang* habla+lengua sprache muttersprache "
        "taal langue lengua idioma lingua mother+tongue mothertongue lnghom*",
    ),
    Topic(
        "relation",
        Q,
        "relation inside a household or family",
        "nominal",
        0.85,
        "rel+par* relship* "
        "relpp* rel+pp parentezco* pco1 relation+chef "
        "relationship relat relate relation relhead relp kinship parentesco parente stellung+haushalt lien+parente "
        "verwandtschaft parentela head+of+household hhead guardian custody carer+relation",
    ),
    Topic(
        "family",
        Q,
        "family or household",
        "number",
        0.85,
        "*hhsiz *hhsize "
        "teen* kid+home kidhome "
        "fam+mem* family+mem* hhmmb hhmem* hh+mem* household+mem* nmembers n+members "
        "=son =daughter =hijo =hija =fils =fille hijos* numhijos "
        "nbpers* nb+pers* nb+personnes nbpersonnes enfants+charge personnes+charge hijos+cargo figli+carico dependentes "
        "inwonend* kinderzahl num+hijos numero+hijos numero+filhos numero+figli nb+enfants family+size famsize fam+size "
        "household+size hhsize hh+size hhsize* hsize npers numpers persons household* num+children nchild* children child "
        "kids kid kidslt* kidsge* childs nkids n+kids kinder anzahl+kinder kinderen enfants nbenf* nb+enf* hijos nhijos "
        "filhos figli dependents dependent dependants dependant dependientes sibsp siblings sibs sibling brothers sisters "
        "freres soeurs hermanos irmaos fratelli geschwister parch twins hhtype fam+type family+type famtype familysize "
        "family typmen* menage hogar haushalt* huishoud* personas+hogar tamano+hogar householdsize hompop numadult "
        "parents number+of+people people+in sons daughters",
    ),
)

PLACES: tuple[Topic, ...] = (
    Topic(
        "postcode",
        Q,
        "postcode",
        "place",
        0.95,
        "cpostal codpost* cod+post* "
        "zip zips zipcode zip+code zip5 zip3 postcode* post+code postal postalcode postal+code postleitzahl plz "
        "code+postal codepostal =cap cep pc4 pc6 pincode codigo+postal codpostal =cp zcta postnummer postnr "
        "codice+postale",
        2,
    ),
    Topic(
        "place",
        Q,
        "place of living",
        "place",
        0.9,
        "south north east west northeast midwest "
        "munresi* mun+res* smsa cmsa pmsa =population town+size city+size "
        "code+geo geo+code zbs* zona+basica code+commune commune+code "
        "service+area catchment+area entidad* "
        "cabin* kabine* "
        "code+insee insee+com* com+insee insee+res* codgeo dep+code area+kode gemeindeschl* ags gemeentecode cod+mun* "
        "codmun* codice+comune istat+com* "
        "grid* geohash* quadkey h3+* mgrs tile+id hex+id "
        "zona* ccaa comunidad+autonoma comunidad* "
        "city cities town* municipality municip* gemeente* gemeinde* commune* comune* ciudad cidade citta ville village* "
        "suburb* district* distrito distretto county counties countyfip* cnty region regions regiao regione provinc* "
        "province provincie provincia prov state states statecode state+name statefip* st+fips fips fipst stfips stcode "
        "neighbourhood* neighborhood* borough* parish lsoa* msoa* lad lad* oa11 nuts* stadt stadtteil ort wohnort "
        "bundesland kreis landkreis bezirk woonplaats wijk buurt canton kanton departement* departamento depto dept+res "
        "localidad localita localite localidade barrio bairro quartiere arrondissement aglomera* agglo* residence "
        "residence+type residenza residencia wohn+ort urban* rural* "
        "urbrur* settlement* locality location =area area+name area+code "
        "area+type areacode metro metropolitan metarea cbsa msa puma tract census+tract censustract census+block "
        "block+group blockgroup geoid =geo geography ward precinct uf estado+residencia cntry cntryname regionname "
        "governorate oblast prefecture lga woreda taluk mandal address+type live+in lives degurba domicil size+of+place "
        "=belt community+size migration+reg lieu hometown home+town embarked embark_town destination+country ubigeo "
        "comuna community+area pickup+borough subdivision =division cluster+location =beat police+beat patrol+beat "
        "sector+code cell+id cellid cell+tower celltower cell+site lac+cell =iris iris+code =lac location+area enodeb* "
        "ecgi tac+code standort* wohnsitz* domicile+commune com+resid* comune+residenza citta+residenza municipio* "
        "freguesia concelho distrito+resid* kommune gewest plaats plaatsnaam ville+residence dep+residence =reg ship+city "
        "ship+state bill+city x+coord* y+coord* xcoord ycoord",
        2,
    ),
    Topic(
        "country",
        Q,
        "country",
        "place",
        0.9,
        "countryb countryofbirth cob country countries countrycode country+code =land pays pais paese ctry staat",
    ),
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
