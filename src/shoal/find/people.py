"""Values that are names of people: full names in several spellings, and single given or family names.

Takes    distinct values
Returns  the share of them that is written as a name and holds a frequent one; 0 where most are written otherwise
Keeps    words that are names and something else too (months, colours, saints of places) out of the count
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from shoal.find.identifiers import spread
from shoal.find.name_words import folded

SINGLE_SHARE, SINGLE_LEAST = 0.3, 10
"""A column of more than so many values holds names where this share has a known one: lists of names are never complete."""
FULL_SHARE = 0.4
"""Share of full names from which a column, however few its values, holds people."""
_PARTICLES = "van de der den von zu zum zur di da dal del della dei do dos das du des la le el al ben bin ter ten y e te"
_PARTICLE = frozenset(_PARTICLES.split())
_TITLE = re.compile(
    r"(?:(?:dr|dott|dottssa|dra|drs|prof|ing|mr|mrs|ms|miss|mme|mlle|sr|sra|sig|sigra|dhr|mevr|mw|herr|frau|me|maitre)\b\.?\s*)+"
    r"(?=[^\W\d_]{2})"
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.\s?-?){1,4}(?:[^\W\d_]+\s){0,3}[^\W\d_]{2}[\w'’-]*")
_WORD = re.compile(r"[^\W\d_][^\W\d_'’.-]*(?:['’-][^\W\d_]+)*\.?")
_SAINTS = frozenset(
    "san santa santo sao saint sainte st ste sankt sint porto villa puerto fort mount port new north south".split()
)
_THINGS = frozenset(
    "gmbh ag kg ohg ltd llc inc plc corp company co group group bv nv sa sarl sas spa srl gbr ev hospital clinic school college "
    "university klinik schule hopital ecole escuela colegio escola scuola ospedale street road avenue strasse rue calle via "
    "straat rua cabinet pharmacie pharmacy praxis apotheke apotheek farmacia farmacie consultorio ambulatorio laboratoire labor "
    "bank store shop cafe hotel restaurant park lake river island unit team church center centre".split()
)
_ALSO_WORDS = frozenset(
    "april june may august white black brown green gray grey braun schwarz weiss blanc blanco blanca rosa bianco bianca neri "
    "gross klein lang long young king west virginia jordan florence georgia can said li post wood hill price wells cook baker "
    "will mark rich page art frank groot wit prins winter sommer jung grace hope faith serena petit villa park berg ward".split()
)


def full_names_share(values: Sequence[str]) -> float:
    """The share of values that name somebody in full: given and family name, initials or a title before one, "Name, Given".

    >>> full_names_share(["Mary Jones", "J. de Vries", "Dott. Rossi", "SILVA, ANA", "North Ward"])
    0.8
    >>> full_names_share(["San Juan", "Santa Rosa", "Garcia GmbH", "Finance"])
    0.0
    """
    looked = spread(values)
    return sum(map(_full_name, looked)) / len(looked) if looked else 0.0


def names_share(values: Sequence[str]) -> float:
    """The share of values that hold a name of a person, full or single; 0 where they are not written as names."""
    looked = spread(values)
    if not looked or sum(bool(re.fullmatch(r"[^\W\d_][\w .,'’-]{1,60}", v)) for v in looked) < 0.9 * len(looked):
        return 0.0
    return sum(map(_holds_name, looked)) / len(looked)


@cache
def _full_name(value: str) -> bool:
    plain = _TITLE.sub("", folded(value), count=1) if _TITLE.match(folded(value)) else folded(value)
    if plain != folded(value) and _WORD.match(plain) and len(plain.split()) <= 4 and not set(plain.split()) & _THINGS:
        return True
    if _INITIALS.fullmatch(plain) and value[:1].isupper():
        return True
    last, comma, first = plain.partition(",")
    words = (f"{first} {last}" if comma else plain).split()
    if not 2 <= len(words) <= 6 or not all(_WORD.fullmatch(w) for w in words) or not _capitals(value):
        return False
    acronym = value.split()[0].isupper() and len(value.split()[0]) > 1 and not value.isupper() and not comma
    if words[0] in _SAINTS or set(words) & _THINGS or acronym:
        return False
    many = len(words) >= 3  # two given names, two family names
    begins = any(part in GIVEN for word in words[: 1 + many] for part in word.split("-"))
    ends = any(word in FAMILIES and word not in _ALSO_WORDS for word in words[-1 - many :])
    return begins or (ends and words[0] not in _ALSO_WORDS)


def _capitals(value: str) -> bool:
    """Whether every word but particles begins with a capital letter."""
    return all(w[:1].isupper() or folded(w) in _PARTICLE or w[:2].lower() in ("d'", "d’") for w in re.split(r"[ ,]+", value) if w)


@cache
def _holds_name(value: str) -> bool:
    words = re.split(r"[ ,.\-]+", folded(value))
    if words[0] in _SAINTS or set(words) & _THINGS:
        return False
    return any((w in GIVEN or w in FAMILIES) and w not in _ALSO_WORDS for w in words)


ENGLISH = """james robert john michael david william richard joseph thomas christopher charles daniel matthew anthony mark
donald steven andrew paul joshua kenneth kevin brian timothy ronald george jason edward jeffrey ryan jacob nicholas gary eric
jonathan stephen larry justin scott brandon benjamin samuel gregory alexander patrick frank raymond jack dennis jerry tyler
aaron adam nathan henry zachary douglas peter kyle noah ethan jeremy christian walter keith austin roger terry sean gerald carl
dylan harold jordan jesse bryan lawrence arthur gabriel bruce logan billy joe alan elijah willie albert wayne randy mason
vincent liam roy bobby caleb bradley russell lucas oliver harry oscar leo alfie archie freddie callum connor cameron lewis
graham stuart simon nigel colin derek malcolm trevor clive gareth rhys owen duncan neil ian craig darren lee phillip philip
howard martin tony danny mary patricia jennifer linda elizabeth barbara susan jessica karen sarah lisa nancy sandra betty ashley
emily kimberly margaret donna michelle carol amanda melissa deborah stephanie rebecca sharon laura cynthia dorothy amy kathleen
angela shirley emma brenda pamela nicole anna samantha katherine christine helen debra rachel carolyn janet maria catherine
heather diane olivia julie joyce victoria ruth virginia lauren kelly christina joan evelyn judith andrea hannah megan cheryl
jacqueline martha madison teresa gloria sara janice ann anne kathryn abigail sophia sophie frances jean alice judy isabella
julia grace amber denise danielle marilyn beverly charlotte natalie theresa diana brittany doris kayla alexis lori marie chloe
lucy holly gemma hayley leanne tracey jill gillian fiona alison hilary wendy joanne lesley lynn lynne maureen geraldine louise
georgia ellie zoe molly daisy poppy amelia florence ivy beth bethany abbie jade claire clare kate katie elaine eleanor"""

GERMAN = """hans peter wolfgang klaus jurgen juergen gunter guenter dieter horst manfred uwe helmut heinz gerhard bernd werner
frank michael thomas andreas stefan stephan christian markus matthias martin alexander tobias sebastian florian daniel jan
jens sven torsten thorsten dirk ralf ralph jorg joerg holger kai lars nils olaf oliver rainer rolf rudolf walter wilhelm
friedrich karl karlheinz heinrich josef franz georg ludwig johann johannes kurt otto paul ernst erich fritz hermann herbert
siegfried egon lothar detlef norbert hubert reinhard volker ulrich lukas leon finn felix jonas maximilian moritz philipp
niklas julian fabian dominik patrick marcel kevin dennis emil anton jakob ben elias luis henry ursula helga ingrid renate
monika karin gisela petra sabine brigitte christa elke heike claudia susanne gabriele martina andrea birgit angelika
barbara christine christina katharina katja kathrin katrin anja silke silvia simone sonja stefanie stephanie tanja ulrike
ute heidi hannelore hildegard irmgard elfriede edith erika gerda gertrud johanna margarete margot marianne martha rosemarie
ruth waltraud anna anke anneliese astrid beate bettina carola cornelia dagmar doris eva franziska hanna ilse irene jana
jessica jutta kerstin kristin laura lea lena leonie lina lisa luisa maike maren maria marie melanie mia mila nadine nicole
nina sandra sarah sophia sophie svenja vanessa vera yvonne annette dorothea regina roswitha saskia wiebke antje friederike"""

FRENCH = """jean pierre michel andre philippe alain bernard jacques daniel rene claude roger patrick christian nicolas
christophe laurent stephane david frederic olivier eric julien sebastien pascal thierry didier dominique francois gerard
gilles guy henri herve louis marcel marc maurice paul raymond robert serge sylvain thomas vincent yves antoine alexandre
alexis arthur baptiste benjamin benoit bruno cedric charles clement damien denis emile emmanuel etienne fabien fabrice
florian franck gabriel gaston georges gregory guillaume gustave hugo jerome jonathan joseph leo leon lucas ludovic luc mathieu
matthieu maxime mickael nathan noel quentin raphael remi remy romain roland sacha samuel simon theo theodore tristan valentin
victor xavier yann marie jeanne francoise monique catherine nathalie isabelle sylvie anne martine jacqueline christine
nicole valerie sandrine stephanie celine sophie veronique christiane patricia brigitte chantal annie danielle denise
dominique michele michelle colette yvette yvonne simone suzanne madeleine marguerite therese helene germaine louise alice
amelie anais audrey aurelie aurore camille caroline cecile charlotte chloe claire clara claudine corinne delphine diane
elisabeth elise elodie emilie emma estelle eugenie eva florence gabrielle genevieve ines josephine josette juliette julie
karine laetitia laure lea lucie manon margaux margot marine marion mathilde melanie nadia nadine nathalie noemie odette
oceane pauline raymonde renee sabine sarah solange sonia susan valentine virginie zoe thibault thibaut capucine lucy agnes"""

SPANISH = """antonio jose manuel francisco juan david javier daniel carlos jesus alejandro miguel rafael pedro pablo angel
sergio fernando jorge luis alberto alvaro diego adrian raul enrique ramon vicente ivan ruben oscar andres joaquin santiago
eduardo victor mario roberto jaime ignacio marcos salvador ricardo jordi emilio guillermo gabriel julio julian tomas agustin
felix cesar gonzalo nicolas domingo esteban hugo martin mateo lorenzo rodrigo alfonso gregorio sebastian mariano xavier
arturo alfredo ernesto gustavo hector hernan leandro leonel lautaro matias maximiliano bautista maria carmen ana isabel
laura cristina marta dolores lucia pilar elena sara raquel paula mercedes rosario beatriz teresa juana rosa silvia julia
patricia montserrat irene angela andrea rocio monica alba encarnacion alicia sandra sonia marina susana yolanda natalia
margarita eva claudia inmaculada esther ines noelia veronica nuria carolina angeles luisa consuelo amparo concepcion
josefa francisca antonia manuela victoria alejandra gloria lorena fatima miriam emilia celia lidia olga rebeca belen carla
daniela valentina camila sofia martina gabriela florencia soledad ximena guadalupe josefina esperanza graciela norma blanca
remedios milagros valeria leticia catalina ainhoa itziar aitor iker mireia joan pau marc anna chus paco pepe"""

DUTCH = """jan johannes cornelis hendrik willem pieter gerrit jacobus petrus antonius dirk klaas kees piet henk wouter sander
bas niels daan sem finn lucas levi luca bram ruben jeroen marco erik hans thomas tim jasper joost maarten martijn michiel
mark marcel rob robert ronald ruud peter paul patrick richard rene remco sjoerd stefan teun thijs tom wim wessel arjan
arie bart ben bert dennis edwin frank frans fred gert gijs guus harm harry herman jaap jacob jelle jesse jos joris koen
lars leon leo lars luuk mees mohamed noah patrick raymond roel sven theo tijn ton vincent willem emma julia sara anna eva
lisa sofie noor johanna cornelia elisabeth wilhelmina hendrika margaretha petronella grietje fleur lotte iris sanne femke
marloes ingrid monique petra annie truus willemien aaltje saskia tess mila anouk anja anke annemarie annemieke astrid bianca
bianka brigitte carla caroline chantal daphne ellen els esther evi floor gerda hanneke heleen ilse inge irene jacqueline janneke
jantje jet joke jolanda josephine judith karin kim laura lieke linda lieve loes maaike maartje marieke marijke marike marja
marjan marjolein mieke miranda nathalie nicole nienke patricia pien renate rianne roos sandra silvia sophie suzanne
tineke trijntje vera wendy willy yvonne yara zoe evelien els hilde greet griet koenraad lien stijn wout pieterjan"""

PORTUGUESE = """joao jose antonio manuel francisco carlos paulo pedro luis luiz marcos lucas miguel gabriel rafael daniel
marcelo bruno eduardo felipe filipe rodrigo fernando gustavo fabio andre alexandre ricardo sergio jorge roberto mario
vitor victor vinicius thiago tiago diego diogo duarte davi david matheus mateus leonardo guilherme henrique arthur artur
enzo bernardo heitor samuel caio caua benjamin joaquim raul raimundo sebastiao severino domingos nuno rui hugo helder
goncalo tomas martim rodolfo renato rogerio ronaldo wagner washington wellington emanuel otavio nicolas maria ana
francisca antonia adriana juliana marcia fernanda patricia aline sandra camila amanda bruna jessica leticia julia luciana
vanessa mariana gabriela vera vitoria larissa claudia beatriz luana rita sonia renata eliane josefa simone natalia
cristiane carla debora rosangela jaqueline rosa daniela aparecida marlene terezinha raimunda andreia fabiana lucia raquel
angela rafaela joana luciene isabela isabella sofia sophia alice helena laura heloisa manuela valentina lorena
livia yasmin cecilia catarina ines matilde margarida leonor carolina teresa paula susana filipa marta clara eduarda
lara maite milena pietra esther stella emanuelly agatha ana clarice benedita conceicao fatima ligia lourdes"""

ITALIAN = """giuseppe giovanni antonio mario luigi francesco angelo vincenzo pietro salvatore carlo franco domenico bruno
paolo michele giorgio aldo sergio luciano andrea marco alessandro roberto stefano massimo claudio fabio gianni maurizio
davide daniele simone matteo lorenzo leonardo riccardo tommaso gabriele federico edoardo filippo nicola nicolo emanuele
alberto alessio alfredo alfonso armando arturo attilio carmelo carmine cesare ciro dario diego dino donato egidio elio
emilio enrico enzo ernesto ettore eugenio ezio fausto felice ferdinando fernando gaetano gennaro giacomo gianluca
gianpaolo gino giulio graziano guido ignazio ivan ivano jacopo leone lino livio luca manuel mauro mirko nino oreste
osvaldo pasquale pierluigi piero raffaele raimondo renato renzo rocco romano rosario ruggero saverio silvano silvio
tiziano ugo umberto valentino valerio vito vittorio maria anna giuseppina rosa angela giovanna teresa lucia carmela
caterina francesca antonietta carla elena concetta rita margherita franca paola laura giulia sofia aurora alice
ginevra emma giorgia greta beatrice martina chiara sara alessandra alessia angelica annalisa arianna barbara benedetta
bianca camilla carlotta caterina cecilia cinzia claudia clara cristina daniela debora domenica donatella elisa
elisabetta emilia erica eleonora fabiola federica fiorella flavia gabriella gaia gianna gloria graziella ilaria irene
isabella lidia liliana loredana lorena loretta luciana luisa manuela marcella maddalena marina marta matilde michela milena
mirella monica nadia nicoletta noemi ornella patrizia piera raffaella roberta rosalia rosanna rossella sabrina serena
silvana silvia simona sonia stefania susanna tiziana valentina valeria vanda vera veronica vincenza viola virginia vittoria"""

ELSEWHERE = """mohamed mohammed muhammad ahmed ahmet mehmet mustafa ali hassan hasan hussein huseyin ibrahim omar youssef
yusuf karim khalid rachid said samir tarik bilal hamza ismail osman murat emre can cem deniz kemal ayse fatma emine zeynep
elif hatice merve esra amina fatima aicha khadija leila laila yasmin yasmina samira nadia naima malika salma nour layla mariam
maryam zahra wei li ming jing mei ling yan hui hong jun chen hiroshi yuki akira kenji haruto sakura priya arjun rahul amit
anil sunil sanjay vijay raj ravi rajesh anjali deepa sunita pooja neha kavita lakshmi piotr krzysztof andrzej tomasz jan
stanislaw pawel marcin michal grzegorz jerzy adam lukasz zbigniew kasia katarzyna malgorzata agnieszka barbara ewa krystyna
joanna magdalena monika zofia jadwiga danuta irena aleksandra ivan sergei dmitri vladimir alexei mikhail nikolai boris oleg
igor yuri olga tatiana svetlana natasha irina ekaterina anastasia ludmila galina ion gheorghe vasile mihai andrei elena
ioana mihaela florin bogdan marius adrian cristian nguyen minh thanh linh kwame kofi ama chidi ngozi emeka oluwaseun adeola
lars sven erik anders nils bjorn ingrid astrid freja sigrid olaf magnus gustav ole kari siobhan niamh aoife sinead padraig
jarek dorota goran dragan milan zoran nikola jovana marija luka"""

FAMILY = """smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson anderson
thomas taylor moore jackson martin lee perez thompson white harris sanchez clark ramirez lewis robinson walker young allen
king wright scott torres nguyen hill flores green adams nelson baker hall rivera campbell mitchell carter roberts evans edwards
turner parker collins stewart morris murphy cook rogers morgan cooper peterson reed bailey kelly howard ward cox watson wood
bennett gray hughes price myers foster sanders ross powell sullivan russell ortiz jenkins perry butler barnes fisher simmons
patterson jordan reynolds hamilton graham kim wallace west cole hayes bryant gibson ellis stevens marshall owens mcdonald
kennedy wells johnston henderson shaw khan patel singh ali ahmed begum hussain davies walsh obrien byrne ryan doyle fraser
muller mueller schmidt schneider fischer weber meyer meier maier wagner becker schulz hoffmann schafer koch bauer richter klein
wolf schroder neumann schwarz zimmermann braun kruger hofmann hartmann lange schmitt werner krause lehmann schmid schulze
koehler kohler herrmann konig walter mayer huber kaiser fuchs peters lang scholz moller weiss jung hahn schubert vogel friedrich
keller gunther frank berger winkler roth beck lorenz baumann franke albrecht schuster simon ludwig bohm winter kraus schumacher
martens vogt stein jager otto sommer gross seidel heinrich brandt haas schreiber graf dietrich ziegler kuhn kuhnert pohl engel
horn busch bergmann thomas voigt sauer arnold wolff pfeiffer demir yilmaz kaya celik sahin yildiz ozturk aydin arslan
martin bernard dubois thomas robert richard petit durand leroy moreau simon laurent lefebvre michel garcia bertrand
roux vincent fournier morel girard andre lefevre mercier dupont lambert bonnet francois martinez legrand garnier faure
rousseau blanc guerin muller henry roussel nicolas perrin morin mathieu clement gauthier dumont lopez fontaine chevalier robin
masson sanchez gerard nguyen boyer denis lemaire duval joly gautier roger roche roy noel meyer lucas meunier jean
perez marchand dufour blanchard marie barbier brun dumas brunet schmitt leroux colas vidal caron picard aubert giraud
garcia fernandez gonzalez rodriguez lopez martinez sanchez perez gomez martin jimenez ruiz hernandez diaz moreno munoz
alvarez romero alonso gutierrez navarro torres dominguez vazquez ramos gil ramirez serrano blanco molina morales suarez ortega
delgado castro ortiz rubio marin sanz nunez iglesias medina garrido cortes castillo santos lozano guerrero cano prieto mendez
cruz calvo gallego vidal leon marquez herrera pena flores cabrera campos vega fuentes carrasco diez reyes caballero nieto
aguilar pascual santana herrero lorenzo montero hidalgo gimenez ibanez ferrer duran santiago benitez mora vicente vargas arias
silva santos oliveira souza sousa rodrigues ferreira alves pereira lima gomes costa ribeiro martins carvalho almeida lopes
soares fernandes vieira barbosa rocha dias nascimento andrade moreira nunes marques machado mendes freitas cardoso ramos
goncalves santana teixeira araujo pinto correia correa melo cunha cavalcanti monteiro moura campos batista barros azevedo
cardozo peixoto farias fonseca coelho duarte macedo tavares neves pires matos simoes
rossi russo ferrari esposito bianchi romano colombo ricci marino greco bruno gallo conti deluca mancini costa giordano rizzo
lombardi moretti barbieri fontana santoro mariani rinaldi caruso ferrara galli martini leone longo gentile martinelli vitale
lombardo serra coppola marchetti parisi villa conte ferraro ferri fabbri bianco marini grasso valentini messina sala gatti
pellegrini palumbo sanna farina rizzi monti cattaneo morelli amato silvestri mazza testa grassi pellegrino carbone giuliani
benedetti barone orlando damico palmieri bernardi martino fiore neri piras caputo donati basile sartori guerra
jansen devries vandenberg bakker visser smit meijer boer mulder groot bos vos peters hendriks leeuwen dekker brouwer wit
dijkstra smits graaf meer kok jacobs haan vermeulen heuvel veen broek schouten beek willems vliet hoekstra maas verhoeven
koster dam prins blom huisman peeters jonge kuipers veenstra kramer brink scholten post postma martens molenaar vink
gerritsen timmermans groen koning janssen janssens maes claes wouters goossens dewit declercq mertens elhaddad elamrani bouzid
haddad benali nowak kowalski kowalska wisniewski wojcik kaminski lewandowski zielinski novak horvat popescu ionescu ivanov
petrov hansen olsen larsen andersen johansson lindberg nilsson wang zhang chen liu yang huang kumar sharma gupta okafor mensah"""

GIVEN = frozenset(
    name for names in (ENGLISH, GERMAN, FRENCH, SPANISH, DUTCH, PORTUGUESE, ITALIAN, ELSEWHERE) for name in names.split()
)
FAMILIES = frozenset(FAMILY.split())
