"""The words of both languages with their forms.

Tables give what rules cannot tell. A noun is "english/plural french/plural", a verb "base/past infinitive/participle/forms":
parts that are left out are regular.
"""
import dataclasses
import re

UNKNOWN = "<unk>"
VOWELS = "aeiouyhàâéèêëîïôœ"
ASPIRATED = {"hibou", "hiboux", "héros", "haut", "haute", "hauts", "hautes", "haïr", "hais", "hait", "haïssons", "haïssez",
             "haïssent", "haï", "huit"}

PERSONS = {"m": """
man/men homme|boy garçon|king roi|father père|brother frère|uncle oncle|teacher professeur|doctor médecin|
baker boulanger|child/children enfant|friend ami|neighbour voisin|soldier soldat|farmer fermier|singer chanteur|
painter peintre|student étudiant|prince prince|son fils/fils|thief/thieves voleur|grandfather grand-père/grands-pères|
writer écrivain|pirate pirate|clown clown|hero/heroes héros/héros|judge juge|tailor tailleur""", "f": """
woman/women femme|girl fille|queen reine|mother mère|sister sœur|aunt tante|princess princesse|witch sorcière|
lady/ladies dame|nurse infirmière|actress actrice|grandmother grand-mère/grands-mères|dancer danseuse|
waitress serveuse"""}
ANIMALS = {"m": """
cat chat|dog chien|horse cheval/chevaux|bird oiseau/oiseaux|wolf/wolves loup|lion lion|rabbit lapin|elephant éléphant|
bear ours/ours|fox renard|owl hibou/hiboux|monkey singe|donkey âne|pig cochon|duck canard|tiger tigre|snake serpent|
dragon dragon|fish/fish poisson|crocodile crocodile""", "f": """
cow vache|mouse/mice souris/souris|goat chèvre|bee abeille|frog grenouille|hen poule|fly/flies mouche|turtle tortue|
spider araignée|ant fourmi|giraffe girafe"""}
THINGS = {"m": """
book livre|hat chapeau/chapeaux|coat manteau/manteaux|knife/knives couteau/couteaux|boat bateau/bateaux|train train|
bed lit|mirror miroir|glass verre|dish plat|box carton|newspaper journal/journaux|ring anneau/anneaux|phone téléphone|
pencil crayon|bag sac|gift cadeau/cadeaux|plane avion|paper papier|umbrella parapluie|picture tableau/tableaux|
computer ordinateur|clock réveil|basket panier|bicycle vélo|stone caillou/cailloux|toy jouet|drum tambour""", "f": """
car voiture|chair chaise|table table|key clé|lamp lampe|door porte|window fenêtre|shirt chemise|bottle bouteille|
flower fleur|letter lettre|dress robe|candle bougie|star étoile|spoon cuillère|fork fourchette|photograph photo|
shoe chaussure|machine machine|guitar guitare|sword épée|cup tasse|wheel roue|bell cloche|map carte|label étiquette|
rope corde|crown couronne|doll poupée|blanket couverture"""}
FOODS = {"m": """
cake gâteau/gâteaux|egg œuf|lemon citron|melon melon|biscuit biscuit|sandwich sandwich|mushroom champignon|
pea pois/pois|onion oignon|apricot abricot""", "f": """
apple pomme|orange orange|pear poire|strawberry/strawberries fraise|carrot carotte|potato/potatoes patate|
tomato/tomatoes tomate|cherry/cherries cerise|banana banane|nut noix/noix"""}
MASSES = {"m": "bread pain|cheese fromage|rice riz|sugar sucre|honey miel|butter beurre",
          "f": "meat viande|soup soupe|salad salade|jam confiture"}
DRINKS = {"m": "milk lait|wine vin|coffee café|tea thé|juice jus/jus", "f": "water eau|beer bière|lemonade limonade"}
PLACES = {"m": """
garden jardin|market marché|park parc|castle château/châteaux|hotel hôtel|museum musée|restaurant restaurant|
bridge pont|road chemin|wood bois/bois|mill moulin|office bureau/bureaux|lake lac|shop magasin|
hospital hôpital/hôpitaux|village village|field champ|theatre théâtre""", "f": """
house maison|city/cities ville|street rue|school école|church/churches église|kitchen cuisine|beach/beaches plage|
mountain montagne|forest forêt|river rivière|island île|room chambre|station gare|farm ferme|
library/libraries bibliothèque|tower tour"""}
NAMES = {"m": "paul louis victor marc arthur émile thomas", "f": "anna marie alice julie emma louise zoé"}

# A French adjective is "masculine feminine plural plural-feminine before-a-vowel": the last may be left out where regular.
BEFORE = """small petit|big grand|old vieux vieille vieux vieilles vieil|young jeune|beautiful beau belle beaux belles bel|
new nouveau nouvelle nouveaux nouvelles nouvel|good bon bonne|bad mauvais|pretty joli|fat gros grosse"""
AFTER = """
red rouge|black noir|white blanc blanche|green vert|blue bleu|yellow jaune|grey gris|brown brun|pink rose|golden doré|
strong fort|weak faible|happy heureux heureuse|sad triste|tired fatigué|angry furieux furieuse|rich riche|poor pauvre|
strange étrange|funny drôle|intelligent intelligent|clean propre|dirty sale|cold froid|hot chaud|dry sec sèche|
wet mouillé|empty vide|full plein|heavy lourd|light léger légère|round rond|square carré|slow lent|fast rapide|
dangerous dangereux dangereuse|quiet tranquille|brave courageux courageuse|lazy paresseux paresseuse|
curious curieux curieuse|famous célèbre|french français|english anglais|italian italien italienne|open ouvert|
closed fermé|broken cassé|lost perdu|hungry affamé|ill malade|modern moderne|enormous énorme|impossible impossible|
ugly laid|hard dur|soft doux douce|expensive cher chère|kind gentil gentille|wise sage|nervous nerveux nerveuse|
proud fier fière|sweet sucré|thin mince|high haut|calm calme"""
OF_LIVING = set("""young old happy sad tired angry rich poor funny intelligent lazy brave curious hungry ill kind wise nervous
    proud calm strong weak fat famous french english italian beautiful small big strange ugly quiet slow fast dangerous bad good
    pretty thin""".split())
OF_FOOD_TOO = set("""good bad big small red black white green yellow brown golden cold hot sweet french italian expensive
    enormous hard soft fat pretty""".split())
NOT_OF_THINGS = set("""young happy sad tired angry rich poor funny intelligent lazy brave curious hungry ill kind wise nervous
    proud sweet calm""".split())

# A verb whose past is formed with être has a +. "look_at" is a verb of two words. French verbs in -er need no forms.
INTRANSITIVE = """
sleep/slept dormir/dormi/dors dort dormons dormez dorment|run/ran courir/couru/cours court courons courez courent|
sing/sang chanter|dance danser|cry pleurer|laugh rire/ri/ris rit rions riez rient|work travailler|walk marcher|
swim/swam nager|smile sourire/souri/souris sourit sourions souriez sourient|play jouer|speak/spoke parler|
travel voyager|dream rêver|jump sauter|shout crier|think/thought penser|cough tousser|breathe respirer|
tremble trembler|fall/fell +tomber|arrive +arriver|leave/left +partir/parti/pars part partons partez partent|
stay +rester"""
TRANSITIVE = """
see/saw voir/vu/vois voit voyons voyez voient|look_at regarder|look_for chercher|listen_to écouter|
hear/heard entendre/entendu/entends entend entendons entendez entendent|
wait_for attendre/attendu/attends attend attendons attendez attendent|like aimer|love aimer|hate détester|
admire admirer|follow suivre/suivi/suis suit suivons suivez suivent|draw/drew dessiner|
paint peindre/peint/peins peint peignons peignez peignent|hide/hid cacher|wash laver|touch toucher|
forget/forgot oublier|find/found trouver|know/knew connaître/connu/connais connaît connaissons connaissez connaissent|
choose/chose choisir/choisi/choisis choisit choisissons choisissez choisissent|adore adorer|watch observer|
push pousser|call appeler/appelé/appelle appelle appelons appelez appellent"""
OF_PERSONS = """
help aider|thank remercier|invite inviter|kiss embrasser|hurt/hurt blesser|greet saluer|
understand/understood comprendre/compris/comprends comprend comprenons comprenez comprennent|meet/met rencontrer|
punish punir/puni/punis punit punissons punissez punissent"""
OF_THINGS = """
read/read lire/lu/lis lit lisons lisez lisent|write/wrote écrire/écrit/écris écrit écrivons écrivez écrivent|
buy/bought acheter/acheté/achète achète achetons achetez achètent|
sell/sold vendre/vendu/vends vend vendons vendez vendent|take/took prendre/pris/prends prend prenons prenez prennent|
clean nettoyer/nettoyé/nettoie nettoie nettoyons nettoyez nettoient|carry porter|break/broke casser|
lose/lost perdre/perdu/perds perd perdons perdez perdent|throw/threw jeter/jeté/jette jette jetons jetez jettent|
steal/stole voler|repair réparer|use utiliser|count compter|
fill remplir/rempli/remplis remplit remplissons remplissez remplissent|
open ouvrir/ouvert/ouvre ouvre ouvrons ouvrez ouvrent|close fermer|burn brûler|keep/kept garder|
bring/brought apporter|put/put mettre/mis/mets met mettons mettez mettent"""
OF_FOOD = """
eat/ate manger|cut/cut couper|cook cuisiner|taste goûter|
prepare préparer/préparé/prépare prépare préparons préparez préparent|order commander|share partager|refuse refuser|
offer offrir/offert/offre offre offrons offrez offrent"""
OF_DRINKS = """
drink/drank boire/bu/bois boit buvons buvez boivent|want vouloir/voulu/veux veut voulons voulez veulent"""
OF_PLACES = """
visit visiter|cross traverser|
build/built construire/construit/construis construit construisons construisez construisent|leave/left quitter"""
TO = """
give/gave donner|show montrer|send/sent envoyer/envoyé/envoie envoie envoyons envoyez envoient|
sell/sold vendre/vendu/vends vend vendons vendez vendent|lend/lent prêter"""
GO = "go/went +aller/allé/vais va allons allez vont|return +retourner"
MODALS = """want_to vouloir/voulu/veux veut voulons voulez veulent|can pouvoir/pu/peux peut pouvons pouvez peuvent|
must devoir/dû/dois doit devons devez doivent"""

ADVERBS = "often souvent|always toujours|rarely rarement|already déjà|still encore"  # these stand before the English verb
ENDS = {"present": "now maintenant|here ici|today aujourd'hui|together ensemble", "future": "tomorrow demain|soon bientôt",
        "past": "yesterday hier|here ici"}
PREPOSITIONS = "in dans|on sur|under sous|behind derrière|with avec|for pour"
NUMBERS = "two deux|three trois|four quatre|five cinq|six six|seven sept|eight huit|nine neuf|ten dix"


@dataclasses.dataclass(frozen=True)
class Noun:
    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str


@dataclasses.dataclass(frozen=True)
class Adjective:
    english: str
    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    before_vowel: str
    stands_before: bool

    def form(self, gender, plural):
        if gender == "m":
            return self.masculine_plural if plural else self.masculine
        return self.feminine_plural if plural else self.feminine


@dataclasses.dataclass(frozen=True)
class Verb:
    """`particle` is the second English word, as in "look at". The French forms are those of je, il, nous, vous and ils."""
    base: str
    third: str
    past: str
    ing: str
    particle: str
    infinitive: str
    participle: str
    forms: tuple
    with_be: bool  # its past is formed with être, and its participle agrees with the subject


def starts_with_vowel(word):
    return word[0] in VOWELS and word not in ASPIRATED


def entries(table):
    return [entry.strip() for entry in table.replace("\n", " ").split("|") if entry.strip()]


def english_plural(word):
    return word + ("es" if re.search("(s|x|ch|sh)$", word) else "s")


def nouns(tables):
    out = []
    for gender, table in tables.items():
        for entry in entries(table):
            english, french = (part.split("/") for part in entry.split())
            out.append(Noun(english[0], english[1] if english[1:] else english_plural(english[0]),
                            french[0], french[1] if french[1:] else french[0] + "s", gender))
    return out


def adjective(entry, stands_before):
    english, *given = entry.split()
    masculine = given[0]
    feminine = given[1] if given[1:] else masculine if masculine.endswith("e") else masculine + "e"
    plural = masculine if masculine[-1] in "sx" else masculine + "s"
    plurals, before_vowel = given[2:4] or (plural, feminine + "s"), (given[4:] or [masculine])[0]
    return Adjective(english, masculine, feminine, *plurals, before_vowel, stands_before)


def verb(entry):
    english, french = entry.split(" ", 1)
    base, _, past = english.partition("/")
    base, _, particle = base.partition("_")
    infinitive, participle, forms = (french.split("/") + ["", ""])[:3]
    with_be, infinitive = infinitive.startswith("+"), infinitive.lstrip("+")
    stem = infinitive[:-2]
    soft = stem + "e" if stem.endswith("g") else stem
    short = re.search("[^aeiou][aeiou][bdgptmn]$", base) and base not in ("listen", "open", "visit", "happen")
    bare = base[:-1] if base.endswith("e") and not base.endswith("ee") else base + base[-1] if short else base
    third = base[:-1] + "ies" if re.search("[^aeiou]y$", base) else base + "es" if base == "go" else english_plural(base)
    regular = base[:-1] + "ied" if re.search("[^aeiou]y$", base) else bare + "ed"
    return Verb(base, third, past or regular, bare + "ing", particle, infinitive, participle or stem + "é",
                tuple(forms.split()) or (stem + "e", stem + "e", soft + "ons", stem + "ez", stem + "ent"), with_be)


def verbs(table):
    return [verb(entry) for entry in entries(table)]


def pairs(table):
    return [tuple(entry.split()) for entry in entries(table)]


UNKNOWN_NOUN = Noun(*[UNKNOWN] * 4, "m")
UNKNOWN_ADJECTIVE = Adjective(*[UNKNOWN] * 6, False)
BE = Verb("be", "is", "was", "being", "", "être", "été", ("suis", "est", "sommes", "êtes", "sont"), False)
HAVE = Verb("have", "has", "had", "having", "", "avoir", "eu", ("ai", "a", "avons", "avez", "ont"), False)
WAS = ("étais", "était", "étions", "étiez", "étaient")
HAD = ("avais", "avait", "avions", "aviez", "avaient")
