"""Words too common to tell memories apart, in the languages that developers of this tool's users write most.

A query of stop words alone keeps them all.
"""

from memory_cache.search.text import fold

_ENGLISH = """a about above after again against all am an and any are as at be because been before being below between
both but by can cannot could d did do does doing don down during each few for from further had has have
having he her here hers herself him himself his how i if in into is it its itself just ll m me more most
my myself no nor not now of off on once only or other our ours ourselves out over own re s same she
should so some such t than that the their theirs them themselves then there these they this those through
to too under until up ve very was we were what when where which while who whom why will with would you
your yours yourself yourselves also whose let us may might must shall im ive id dont"""

_GERMAN = """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des dich
die dies diese dieser dieses dir doch dort du durch ein eine einem einen einer eines er es euer fur hab
habe haben hat hatte hier hinter ich ihm ihn ihnen ihr ihre im in ist ja jede jedem jeden jeder kann kein
keine konnen machen man mein mich mir mit muss nach nein nicht noch nun nur ob oder ohne sein seine sich
sie sind so soll uber um und uns unser unter vom von vor wann warum was wegen weil welche welchem welchen
welcher welches wenn wer wie wieder will wir wird wirst wo wollen wurde wurden zu zum zur zwischen werden
war waren wurde viele"""

_FRENCH = """alors au aux avec avoir ce ces cet cette comme comment dans de des du elle elles en est et etaient ete
etre eu il ils je la le les leur leurs lui mais me meme mes moi mon ne nos notre nous on ou par pas pour
pourquoi quand que quel quelle quelles quels qui sa sans ses si son sont sur ta te tes toi ton tous tout
tu un une vos votre vous l d c j qu n"""

_SPANISH = """al algo como con cual cuales cuando de del desde donde el ella ellas ellos en era es esa ese eso esta
estan este esto fue ha han hasta hay la las le les lo los mas me mi mis muy no nos o para pero por porque
que quien quienes se ser si sin sobre son su sus tambien te tiene tu un una unas uno unos y ya yo"""

_PORTUGUESE_ITALIAN = """ao aos com como da das dos e ela ele eles em foi isso mais mas meu na nas nao nem nos o onde
os ou para pela pelo por qual quando quem sao se sem seu sua tem um uma voce alla anche che chi ci cosa dalla degli
della delle di dove e gli ho hanno il io ma nel nella non perche piu quale quali questo questa sono sul
tra una uno"""

_RUSSIAN = """а без более больше был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его
ее если есть еще же за и из или им их к как какая какие какой какую каком каких когда кого которая
которого которое которой которые который кто куда ли либо между меня мне много может мой мы на над надо
наш не него нее нет ни них но ну о об однако он она они оно от очень по под после потому почему при про
раз с сам свое свои себя сейчас со сколько так также такие такой там те тем то того тоже той только том
ты у уже хотя чего чей чем через что чтобы чье чья эта эти этим этих это этого этой этом этот я"""

_UKRAINIAN = """або але без був була були було бути в вам вас вже ви від він вона вони все де для до же з за зараз і із
інші й його коли крім ми мене мені між на нам нас не неі ні них про по при та так також там те ти тим то
тут у ці цеи це цього цьому ця чи чим чому що щоб щось як яка яке яки які якии якого я"""

_CJK = """的 了 是 在 和 有 吗 呢 吧 啊 什么 怎么 哪 哪个 哪些 为什 么 の は が を に で と も か です ます した
って から まで"""

STOP_WORDS = frozenset(
    fold(word)
    for words in (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _PORTUGUESE_ITALIAN, _RUSSIAN, _UKRAINIAN, _CJK)
    for word in words.split()
)
