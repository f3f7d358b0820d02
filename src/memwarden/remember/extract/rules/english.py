"""Word lists of English extraction, as parts of regular expressions ("a|b") or as sets."""

from __future__ import annotations

from typing import Final

PEOPLE: Final = (
    "wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|spouse|mom|mum|mother|dad|father|stepmom|stepdad|stepmother|"
    "stepfather|parents|sisters?|brothers?|siblings?|sons?|daughters?|kids?|child|children|baby|twins|family|grandma|"
    "grandpa|grandmother|grandfather|grandparents|granny|grandson|granddaughter|grandchildren|grandkids|aunt|uncle|"
    "aunts|uncles|cousins?|nephews?|nieces?|in-laws|mother-in-law|father-in-law|sister-in-law|brother-in-law|ex|"
    "ex-husband|ex-wife|friends?|bestie|roommates?|flatmates?|housemates?|boss|manager|colleagues?|coworkers?|"
    "co-workers?|"
    "neighbou?rs?|teacher|professor|coach|mentor|therapist|doctor|advisor|supervisor|youngest|oldest|eldest|teammates?|"
    "crew|band|relatives?"
)
PETS: Final = (
    "dogs?|cats?|pup|puppy|puppies|kittens?|pets?|turtles?|rabbits?|bunny|hamster|horse|parrot|fish|guinea pigs?|"
    "snakes?|lizard"
)
FAMILY: Final = (
    "wife|husband|partner|girlfriend|boyfriend|mom|mum|mother|dad|father|parents|sisters?|brothers?|sons?|"
    "daughters?|kids?|"
    "children|baby|family|friends?|dogs?|cats?|cousins?|fianc[ée]e?|nephews?|nieces?|grandma|grandpa|grandparents"
)
BODY: Final = (
    "back|knees?|neck|shoulders?|ankles?|wrists?|hips?|stomach|legs?|arms?|feet|foot|hands?|eyes?|teeth|"
    "tooth|"
    "skin|throat|elbow|lungs?|joints?|blood pressure|blood sugar|cholesterol|sleep"
)
CONDITION: Final = (
    "allergic|allergy|allergies|asthma\\w*|diabet\\w+|celiac|coeliac|lactose|gluten|intoleran\\w+|migraines?|"
    "arthritis|anxiety|"
    "depression|adhd|ptsd|ocd|insomnia|anemi\\w+|eczema|epilep\\w+|cancer|hypertension|sciatica|scoliosis|fibromyalgia|"
    "thyroid|ulcer|autis\\w+|dyslexi\\w+|pregnan\\w+|vertigo|tinnitus|panic attacks?|burnout|injur\\w+|surgery|"
    "operation|"
    "fracture\\w*|sprain\\w*|concussion|tendonitis|gastritis|acid reflux|covid|flu|pneumonia|infection|chronic \\w+|"
    "high blood pressure|high cholesterol|bad (?:knees?|back|hip|shoulder)"
)
DIET: Final = "vegan|vegetarian|pescatarian|kosher|halal|gluten-free|dairy-free|lactose intolerant|teetotal\\w*"
NOUNS_OF_WORK: Final = (
    "job|work|career|business|company|profession|degree|major|hometown|home|house|apartment|name|nickname|birthday|"
    "anniversary|wedding|salary|income|budget|goal|dream|dream job|target|target weight|weight|height|bench press|"
    "squat|"
    "deadlift|exam|deadline|shift|address|city|country|neighbou?rhood|school|university|college|church|gym|"
    "position|role|"
    "title|department|commute|car|resting heart rate|target role|schedule|rent|pension|retirement|flight|store|shop|"
    "studio|restaurant|bakery|farm|startup|shop's name|current weight|bedtime|native language|first language|"
    "mother tongue"
)
VAGUE_NOUNS: Final = (
    "project|projects|trip|trips|plan|plans|list|lists|one|ones|exercises?|thing|things|stuff|part|parts|step|"
    "steps|idea|"
    "ideas|details?|options?|document|documents|draft|section|chapter|article|report|itinerary|schedule|session|"
    "sessions|"
    "routine|approach|strategy|process|system|feature|features|design|items?|tasks?|goals?|topic|topics|questions?|"
    "information|info|changes?|notes?|results?|issue|issues|problem|problems|way|ways|situation|event|story|book|game|"
    "show|movie|place|spot|piece|class|course|meeting|data|framework|structure|version|link|file|spreadsheet|template|"
    "module|phase|stage|concept|technique|techniques|method|methods|tool|tools|app|rest|same|others|first|second|next|"
    "workout|workouts|menu|dates?|numbers?|budget|total|prompt|pitch|content|points?|focus|analysis|summary|table|"
    "timeline|checklist|outline|script|portfolio|presentation|program|tracker|log|tip|tips|advice|suggestions?|"
    "feedback|"
    "recipe|flow|page|screen|guide|challenge|challenges|experience|moment|feeling|opportunity|matter|requirements?"
)
KNOWN_THINGS: Final = frozenset(
    "beach mountains mountain ocean sea lake river woods forest park gym doctor dentist hospital library internet "
    "piano "
    "guitar violin drums weekend weekends morning mornings evening evenings afternoon night past future world city "
    "countryside country kitchen garden market airport bank police army navy military church zoo museum movies cinema "
    "theater theatre pool stage community news government outdoors subway train bus car house office house sun sky "
    "moon "
    "rain snow environment west east north south first whole same entire best most biggest largest oldest youngest "
    "only "
    "latest past last great us uk usa united states kids children holidays summer winter spring fall autumn flu "
    "hills desert "
    "court field track ice trails".split()
)
NO_EVENT: Final = frozenset(
    "needed used wanted felt asked mentioned thought knew said told realized realised guessed hoped liked loved "
    "appreciated "
    "understood supposed noticed agreed meant figured wondered believed tried discussed talked outlined established "
    "requested stated expected specified seemed looked saw heard reviewed confirmed noted instructed demanded approved "
    "wore listed described clarified explained provided enjoyed missed".split()
)
SOFT: Final = (
    "support\\w*|proud|happy|happier|excited|thankful|grateful|great|awesome|amazing|incredible|wonderful|means? "
    "(?:a lot|so much|the world)|"
    "inspir\\w+|roller ?coaster|journey|dreams?(?: come)?|true self|best li(?:fe|ves)|success\\w*|luck|motivat\\w+|"
    "encourag\\w+|joy|lucky|blessed|fun|cool|tough|hard|rough|crazy|stoked|pumped|blast|"
    "appreciat\\w*|cheer\\w*|happiness|comfort\\w*|peace|special|rewarding|fulfilling|unforgettable|memorable|nice|"
    "lovely|fantastic|"
    "rock|there for|back me|believ\\w+|stress\\w*|overwhelm\\w*|frustrat\\w*|worr\\w+|difference|memories|vibes?|"
    "feel\\w*|felt"
)
"""Words of a mood. A statement that has little beside them says how somebody felt, which is not worth a fact."""
SESSION_VERBS: Final = (
    "open|try|start|begin|focus|look|think|go (?:through|over|ahead|now|find)|take (?:a|some|another)|keep|make "
    "sure|get (?:started|into|"
    "this|that|back|ready|some)|do|review|proceed|read|see|check (?:the|my|that|it|those)|work on|let|give|set|put|"
    "use|write|jot|grab|"
    "finish|add|move (?:on|forward)|dive|pull|follow|be|have|ask|tell|share|show|print|share|copy|test|update|"
    "practice|run (?:through|it)|continue|come back|step|close|leave|hold|call it|figure|decide|track|"
    "implement|apply|commit|aim|learn|understand|know|create|build|explore|discuss|consider|tackle|"
    "ensure|finali[sz]e|confirm|incorporate|address|hear|feel|move (?:straight|right)|put together|look up"
)
"""What somebody is "going to" do in the talk itself, with the assistant."""
RECENT: Final = (
    "recently|lately|just|currently|right now|now|at the moment|these days|nowadays|already|finally|actually|"
    "really|definitely|"
    "absolutely|honestly|totally|literally|basically|truly|seriously|obviously|also|even|still|super|pretty much|"
    "kind of|"
    "sort of|kinda|sorta|maybe|so far|as well|too|though|again|simply|officially|eventually"
)
ADVERBS: Final = (
    "just|recently|finally|actually|really|also|still|even|already|now|currently|absolutely|totally|definitely|mostly|"
    "honestly|officially|truly|usually|always|often|sometimes|never|typically|generally|normally|rarely|personally|"
    "both|"
    "only|once|first|initially|originally|ultimately|seriously|probably|recently|lately|especially|simply|fully|"
    "strongly|"
    "particularly|deeply|genuinely|eventually|soon|regularly|mainly|primarily|naturally|all|kind of|sort of|kinda|"
    "super|literally|occasionally|frequently|fortunately|unfortunately|luckily|accidentally|randomly|quickly"
)
BASE_VERBS: Final = frozenset(
    """accept add adore agree aim appreciate arrive ask attend avoid bake battle be become begin believe belong bike
    bring build buy call camp care carry catch celebrate change chase check choose clean climb coach collect
    come commute compete cook count cover craft create crave cry cut cycle dance decide deal deliver depend
    design despise detest develop dislike do donate drag draw dream dress drink drive earn eat edit enjoy
    exercise expect explore face fall farm fear feed feel fight find finish fish fit fix fly focus follow forget
    freelance garden get give go grab grow guide handle hang hate have head hear help hike hit hold hope host
    hunt hurt intend invest invite jog join journal jump keep knit know lead learn leave lend let lift like
    listen live loathe look lose love maintain make manage mark mean meditate meet mentor miss move need offer
    open order organize organise own paint participate pay perform photograph plan plant play post practice
    practise pray prefer prepare produce promise publish pull push put raise reach read receive recommend record
    relax relate relish rely remember rent repair represent rescue research respond rest ride rock run save say
    schedule see sell send serve set sew share shop show sing sit skate skateboard ski sleep smoke snack speak
    specialize specialise spend sponsor stand start stay stick stop stream stretch struggle study suffer support
    surf swim take talk teach tell tend think tour track trade train travel treasure treat try turn tutor
    understand upload use utilize value visit volunteer wake walk want watch wear weigh welcome win wish wonder
    work worry write yearn""".split()
)
AMBIGUOUS_BASES: Final = frozenset(
    """work play run walk dance love travel cook paint plan start use help hike fish garden surf talk sleep dream
    drink fight support study visit share shop show tour trade train treat hope care craft change catch check
    count cover cycle design dress drive exercise face fall fear feed feel focus guide head hit hold hunt
    journal jog jump knit lead like look mark mean move need offer open order own pay plant post practice pull
    push raise reach record rest ride rock sew sing skate ski smoke snack stand stay stop stream stretch
    struggle surf swim track turn value wake wear wish wonder worry climb hurt camp bike coach drag fit rent
    research rescue fly host watch battle call dislike hate lift set cut put let""".split()
)
"""Verbs that are nouns or adjectives as well, or have the same form in the past."""
PAST_IRREGULAR: Final = frozenset(
    """became began bent bit blew bought broke brought built came caught chose cut did drank drew drove ate fell fed
    felt fought found flew forgot forgave froze gave got grew had heard held hid hit hurt kept knew laid led
    left lent lost made meant met paid put quit ran rang read rode rose said sang sat saw sent set shook shot
    shut slept sold spent spoke spread stole stood stuck struck swam swore taught thought threw told took tore
    understood was were went woke won wore wrote beat bet cost wound began swept dealt dug hung""".split()
)
SAME_PAST: Final = frozenset("cut put quit read set hit hurt shut spread beat bet cost let fit".split())
NOT_PAST: Final = frozenset(
    "need feed speed bed red wed bleed breed seed weed proceed exceed succeed embed shed indeed hundred".split()
)
MODALS: Final = frozenset("can could will would should may might must shall cannot did had was were".split())
PRONOUNS: Final = (
    "i|me|my|mine|myself|we|us|our|ours|ourselves|you|your|yours|yourself|yourselves|he|she|it|they|him|her|hers|"
    "them|his|"
    "its|their|theirs|himself|herself|itself|themselves|someone else|u|ya|ur"
)
