"""Topics that name a person by themselves. A column with very few values does not, whatever it is called."""

from __future__ import annotations

from shoal.find.names.topics import Topic
from shoal.model.roles import Role

D = Role.DIRECT

_PERSON = (
    "patient pat subject subj person pers participant respondent resp customer cust client klient kunde kunden klant cliente "
    "member mbr user employee emp staff worker personal student pupil learner schuler leerling eleve alumno aluno studente "
    "beneficiary "
    "bene individual individu individuo persona pessoa people human owner holder driver voter citizen donor applicant borrower "
    "proband patienten paciente paziente assure versicherte mitarbeiter medewerker empleado salarie child kid mother father "
    "defendant offender inmate suspect victim passenger guest tenant candidate player household hh hogar foyer menage haushalt "
    "huishouden famiglia familia agregado dwelling vivienda"
).split()
_PERSON_NAMES = " ".join(
    f"{p}+{n}" for p in _PERSON for n in ("first", "last", "name", "surname", "nome", "nom", "nombre", "naam")
)

NUMBERED: tuple[Topic, ...] = (
    Topic(
        "email",
        D,
        "e-mail address",
        "id",
        0.98,
        "email* mail e+mail courriel correo correio emailadres mailadresse",
        6,
    ),
    Topic(
        "fax",
        D,
        "fax number",
        "id",
        0.97,
        "fax telefax faxnummer faxnr",
        5,
    ),
    Topic(
        "phone",
        D,
        "telephone number",
        "id",
        0.97,
        "msisdn* telefono telefone teléfono telefoonnr phone1 phone2 rufnummer* whatsapp phone* telephone* telefon* "
        "telefoon* tel telef telno telnr mobile mobiel* handy handynummer =cell cellphone celular movil portable "
        "telemovel cellulare gsm landline",
        4,
    ),
    Topic(
        "national_number",
        D,
        "national or social security number",
        "id",
        0.98,
        "nino ni+number ni+no national+insurance+n* personalnummer+sv sozialvers* rentenversicherungsn* numero+secu* "
        "num+secu* securite+sociale niss cnp oib jmbg egn ssn soc+sec socsec social+security+n* social+security bsn "
        "burgerservicenummer sofinummer nhs nhsno nhs+number nir cpf dni nif =nie nuhsa curp aadhaar pesel personnummer "
        "national+id nationalid nationalnumber rijksregisternummer steuernummer steuerid steuer+id svnr "
        "sozialversicherungs* versichertennummer insee codice+fiscale codicefiscale cod+fiscale cuil cuit rfc tax+id =tin "
        "cedula =rut amka medicare+n* hicn",
        7,
    ),
    Topic(
        "insurance_number",
        D,
        "health plan or insurance number",
        "id",
        0.95,
        "kv+nr kv+nummer kvnr kvnummer versichertennr krankenversicherungsn* medicare+id medicaid+id subscriber+id "
        "insurance+num* insurance+no insurance+id policy+num* policy+no policy+id policynum* "
        "versicherungsnummer polisnummer plan+id beneficiary+id bene+id desynpuf+id health+card mutuelle+n* "
        "tarjeta+sanitaria",
        9,
    ),
    Topic(
        "account",
        D,
        "account or card number",
        "id",
        0.95,
        "sort+code routing+n* bic swift bankverbindung kreditkarte* card+last* last4 ssn+last* pan+number iban account+n* "
        "account+id acct+n* acct+id konto+nr kontonummer kontonr rekeningnummer creditcard card+num* card+no cardnumber "
        "cc+num* ccnum* numero+compte numero+cuenta conta+n*",
        10,
    ),
    Topic(
        "licence",
        D,
        "licence or passport number",
        "id",
        0.95,
        "passport* driver+lic* drivers+lic* =drivers license+n* licence+n* dl+num* reisepass* paspoort* rijbewijs* "
        "certificate+n* fuhrerschein* permis+conduire pasaporte passaporto "
        "passaporte personalausweis* ausweisnr badge officer+badge "
        "badge+n*",
        11,
    ),
    Topic(
        "plate",
        D,
        "vehicle or number plate",
        "id",
        0.9,
        "kfz+kennz* amtliches+kennz* nummernschild reg+plate plaque+immat* matricula+vehiculo placa patente+auto targa+* "
        "vin plate* kenteken* kennzeichen matricula targa licenseplate immatriculation",
        12,
    ),
    Topic(
        "device",
        D,
        "device or serial number",
        "id",
        0.9,
        "imei imsi serial* device+id deviceid mac+addr* macaddress idfa gaid udid",
        13,
    ),
    Topic(
        "url",
        D,
        "web address",
        "id",
        0.9,
        "url website homepage webpage uri weburl permalink linkedin twitter+handle",
        14,
    ),
    Topic(
        "ip",
        D,
        "internet address",
        "id",
        0.95,
        "ip ipaddress ipaddr ip+addr* ipv4 ipv6",
        15,
    ),
    Topic(
        "biometric",
        D,
        "biometric identifier",
        "id",
        0.95,
        "iris+scan iris+code fingerprint* retina voiceprint biometric*",
        16,
    ),
    Topic(
        "photo",
        D,
        "photograph",
        "id",
        0.95,
        "photo* foto* picture portrait selfie =bild image+url",
        17,
    ),
)

LIVING: tuple[Topic, ...] = (
    Topic(
        "street",
        D,
        "street address",
        "text",
        0.95,
        "address* addr adres* adresse* direccion domicilio street* strasse* straat* str+nr rue calle via+indirizzo "
        "indirizzo endereco morada house+n* housenumber =via n+civ* numero+civico nro+casa n+casa huisnummer* hausnummer* "
        "hausnr *straat *strasse streetname",
        2,
    ),
    Topic(
        "position",
        D,
        "exact position",
        "place",
        0.9,
        "latitude longitude lat lon lng =long gps coord* geolocation geopoint breitengrad langengrad breedtegraad "
        "lengtegraad latitud longitud geom utm easting northing geocode lat+long latlong",
        2,
    ),
)

NAMES: tuple[Topic, ...] = (
    Topic(
        "person_name",
        D,
        "a person's name",
        "id",
        0.97,
        _PERSON_NAMES + " "
        "voorletters iniciales initiales iniziali known+as preferred+name nom+usage nom+marital nom+jeune nom+enfant "
        "nome+aluno nome+mae nome+pai nome+paciente nome+cliente nome+cognome nom+patient nom+client nom+eleve "
        "nombre+paciente nombre+cliente nombre+alumno nombre+padre nombre+madre nombre+apellido* rufname patientenname "
        "kundenname mitarbeitername klantnaam patientnaam ansprechpartner contactpersoon persona+contacto "
        "personne+contact first+name firstname fname given+name givenname surname* lastname last+name lname family+name "
        "familyname fullname full+name middle+name middlename mname vorname* nachname* familienname* zuname voornaam* "
        "achternaam* tussenvoegsel prenom* nom+famille nom+prenom nom+naissance nombre+completo nombres apellido* "
        "primer+nombre nome+completo cognome* sobrenome* apelido initials initialen username user+name login screen+name "
        "nickname maiden* geburtsname meisjesnaam forename* mothers+name fathers+name spouse+name patient+name "
        "customer+name client+name employee+name student+name naam name+first name+last contact+name person+name "
        "doctor+name physician+name",
        1,
    ),
    Topic(
        "name_part",
        D,
        "a part of a person's name",
        "id",
        0.8,
        "=first =last =middle =given",
        1,
    ),
)

_NUMBER = "id nbr nr no num number code key ident identifier kennung nummer numero ref uid guid index idx".split()
_JOINED = "id nr no num number nummer key".split()

_PERSON_WORDS = " ".join(
    [f"{p}+{n}" for p in _PERSON for n in _NUMBER]
    + [f"{n}+{p}" for p in _PERSON for n in ("id", "ident", "numero", "num", "nro", "nr", "cod", "code", "key", "no")]
    + [f"{p}{n}" for p in _PERSON for n in _JOINED if len(p) > 2]
    + [f"id{p}" for p in _PERSON if len(p) > 3]
)

RECORDS: tuple[Topic, ...] = (
    Topic(
        "patient_number",
        D,
        "medical record or patient number",
        "id",
        0.95,
        "nr+dossier dossier+nr numero+dossier nummer+dossier hosp+no hospital+n* fall+nr fallnr aufnahmenr aufnahmenummer "
        "krankenblatt* nhc numero+historia n+sip scheda+nr cartella+clinica prontuario zisnummer mrn patientid patient+id "
        "patient+n* patient+code medical+record* chart+num* dossier+n* pseudonym* patientnummer patnr patid subject+id "
        "subjid subjectid usubjid participant+id record+num* historia+clinica ipp num+dossier krankenakte fallnummer "
        "patienten+id patienten+nr numero+paciente id+patient id+paciente id+paziente seqn mergeid pidp hhidpn",
        8,
    ),
    Topic(
        "person_number",
        D,
        "a number of a person or household",
        "id",
        0.93,
        _PERSON_WORDS
        + " u+id uid uids user+id userid cod+fam* id+fam* fam+id famid n+famille cod+famiglia nucleo+id id+nucleo hid hhid "
        "encr encrypted hashed numhc num+hc nohouse* "
        "hhno hhnum hhnr hhkey idhh idmen pid perid pnum persid serialno *patientid *personid *userid *memberid *customerid "
        "*clientid *studentid *employeeid *subjectid *participantid *respondentid *householdid "
        + "=patient =participant =subject =respondent =customer =client =member =user =employee =student =passenger "
        "=donor =kunde =klant =cliente =paciente =paziente =proband",
        18,
    ),
    Topic(
        "record_number",
        D,
        "a number of a record or event",
        "id",
        0.85,
        "idcode codeid idno idnum idnr idnumber idkey numid nrid identific* "
        "progressivo* matricula+n* nummi nro+orden numero+orden lfd orden+n* num+ordre no+ordre id ids _id uuid guid "
        "identifier ident row+id rowid row+num* rownum* row+names rownames row+name rowname record+id recordid recno "
        "=nr =nbr =rid =sid =cid =tid =vid ptid =case st+case stcase "
        "case+ref* *stayid *visitid *caseid *recordid *encounterid *admissionid *episodeid *sessionid "
        "case+id caseid case+n* caseno encounter* enc+id hadm stay+id visit+id visitid admission+id episode+id claim+id "
        "clm+id claimid event+id eventid order+id orderid order+num* transaction+id trans+id transid invoice* ticket* "
        "application+id app+id loan+id loanid =key primary+key sequence+n* =seq seqno idauniq uniqid unique+id "
        "aktenzeichen laufende+nr lfdnr lfd+nr lopnr volgnummer zaaknummer folio expediente siniestro nummer objectid fid "
        "unnamed icustay+id response+id responseid submission+id booking+id reservation+id survey+id questionnaire+id "
        "=token =hash",
        18,
    ),
)

TEXTS: tuple[Topic, ...] = (
    Topic(
        "name",
        D,
        "a name",
        "id",
        0.75,
        "name nom nome nombre naam names",
        1,
    ),
    Topic(
        "text",
        D,
        "free text, which may name people",
        "text",
        0.7,
        "comment* =note notes remark* =text freetext description narrative opmerking* bemerkung* kommentar* commentaire* "
        "comentario* observaciones observacoes observations osservazioni nota notas anmerkung* toelichting verbatim "
        "transcript tweet =review =message =body other+specify specify *_oth bemerk* hinweis* observacion* observacao* "
        "note+libre texte+libre libelle+libre campo+libre note+libere freitext* vrije+tekst verslag besluit+tekst "
        "anamnese+text",
        18,
    ),
)
