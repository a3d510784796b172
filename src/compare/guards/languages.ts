/**
 * Words that carry grammar and no meaning of their own, by language, folded as words are compared: without accents.
 *
 * Left out on purpose: words whose exchange changes what is said (from, before, without, or, all, only, more, he, she).
 */

import { setOf } from './fold.ts'

export interface Language {
  readonly name: string
  readonly words: ReadonlySet<string>
  /** They are no part of the order of words. */
  readonly articles: ReadonlySet<string>
}

const language = (name: string, words: string, articles = ''): Language => ({
  name,
  words: setOf(words),
  articles: setOf(articles),
})

/** Where two languages fit a text equally well, the first is taken. */
export const LANGUAGES: readonly Language[] = [
  language(
    'en',
    `the a an and of to in on at by for with as that which this these those there here it its is are was were be been
    being am has have had do does did will would shall should can could may might i me my we us our you your they them
    their who whom whose what how when where so then than if just very also too please about into onto upon while one ll ve re`,
    'the a an',
  ),
  language(
    'de',
    `der die das den dem des ein eine einen einem einer eines und zu zum zur in im ins an am ans auf fur mit von vom bei
    beim als dass daß ist sind war waren sein bin bist wird werden wurde wurden hat haben hatte hatten kann konnen konnte
    soll sollen will es ich mich mir mein meine meinen meiner wir uns unser unsere du dich dir dein deine man sich sehr auch so dann wenn wie was wer wo da hier doch
    mal bitte um noch schon nun dies diese dieser dieses diesen daß`,
    'der die das den dem des ein eine einen einem einer eines',
  ),
  language(
    'fr',
    `le la les l un une des du de d et a au aux en dans sur pour par avec que qu qui ce cet cette ces c s est sont etait
    etaient etre suis es sommes etes ete ont ai as avons avez avait j je me m mon ma mes nous notre nos tu te t ton ta tes
    vous votre vos on se y ou quoi comment quand tres aussi si ne n alors donc il lui leur leurs veuillez ici`,
    'le la les l un une',
  ),
  language(
    'es',
    `el la los las lo un una unos unas de del y e a al en por para con que se es son era eran ser soy eres somos esta
    estan estoy ha han he has hemos habia yo me mi mis nos nuestro nuestra tu te tus usted ustedes su sus le les este
    esta estos estas ese esa eso como cuando donde quien muy tambien si ya aqui alli hay`,
    'el la los las un una',
  ),
  language(
    'it',
    `il lo la i gli le l un uno una di del dello della dei degli delle d e ed a al allo alla ai agli alle in nel nello
    nella nei nelle su sul sulla per con che chi si e sono era erano essere sei siamo ha hanno ho hai abbiamo io mi mio
    mia noi ci nostro tu ti tuo voi vi questo questa questi queste come quando dove molto anche se qui`,
    'il lo la i gli le l un uno una',
  ),
  language(
    'pt',
    `o a os um uma uns umas as de do da dos das e em no na nos nas ao aos por pelo pela para com que se e sao era eram
    ser sou somos esta estao estou foi foram tem temos eu me meu minha nossa nosso voce voces este esta isto esse essa
    como quando onde quem muito tambem ja aqui ha`,
    'o a os um uma as',
  ),
  language(
    'nl',
    `de het een en van in op aan te ten ter bij met voor als dat die dit deze is zijn was waren wordt worden werd werden
    heeft hebben had hadden kan kunnen zal zullen ik me mij mijn wij we ons onze je jij jouw u uw men zich er hier daar
    zeer ook dan wie wat hoe waar wanneer`,
    'de het een',
  ),
  language(
    'ru',
    `и а в во на с со к ко о об у по за для что чтобы как это этот эта эти этого этой этом тот та те то же бы ли быть
    был была было были есть я меня мне мой моя мы нас нам наш наша ты тебя тебе твой вы вас вам ваш ваша который
    которая которое которые кто где когда очень также тоже ну вот уже пожалуйста`,
  ),
  language(
    'pl',
    `i a w we na z ze do o u po za dla ze zeby jak to ten ta te tego tej tym jest sa byl byla bylo byli byc sie ja mnie
    mi moj moja my nas nam nasz ty ciebie ci twoj wy was wam wasz ktory ktora ktore kto gdzie kiedy bardzo tez takze juz`,
  ),
  language(
    'tr',
    `ve bir bu su o da de ki mi mu ile icin gibi ben bana benim biz bize bizim sen sana senin siz size sizin cok dir idi`,
  ),
  language(
    'sv',
    `en ett och att i pa av med for till som det den de ar var vara har hade kan ska skulle jag mig min mitt vi oss var
    du dig din man sig mycket ocksa sa nar hur vad vem har`,
    'en ett',
  ),
  language(
    'ar',
    `ال في على إلى الى و أن ان إن التي الذي الذين هذا هذه ذلك تلك هو هي هم كان كانت يكون قد لقد ثم كما أنا انا نحن أنت انت
    هنا هناك ب ل ف`,
  ),
  language(
    'hi',
    `है हैं था थी थे हो होता होती होते का की के में को से ने पर और भी ही तो यह ये वह वे इस उस एक जो कि मैं मुझे मेरा मेरी हम हमें
    हमारा हमारी आप आपका आपकी तुम कृपया बहुत कर करके`,
  ),
  language('zh', `的 了 着 地 得 们 个 個 吗 嗎 呢 吧 啊 呀 嘛 是 也 就 都 和 与 與 及 请 請 很`),
  language('ja', `の は が を ね よ と も です ます だ`),
]

/** Words between the items of a list, beside commas. */
export const LIST_WORDS = setOf(`
  and or und oder sowie et ou y e o ed en of и или i oraz lub ve veya och eller و أو और या तथा व 和 与 與 及 或 と や
`)

/**
 * In longer texts a number or a date beside one of these belongs to the page and not to what it says.
 * Readers, printers and crawlers add them.
 */
export const PAGE_WORDS = setOf(`
  page pages pg views view viewed visitors visits hits comments comment likes shares replies votes updated modified
  retrieved accessed crawled fetched posted published printed generated copyright ago read downloads
  seite seiten aufrufe kommentare aktualisiert abgerufen stand gedruckt besucher
  vues commentaires consulte imprime visiteurs pagina paginas visitas comentarios actualizado consultado
  страница стр просмотров просмотра комментариев обновлено опубликовано
  पृष्ठ टिप्पणियां अपडेट 页 頁 览 覽 阅 閱 评 評 更
`)

/** One letter apart, or nearly, and another thing. Each row: words of which none is a typo of another. */
export const NO_TYPOS: readonly ReadonlySet<string>[] = `
  accept except|affect effect|adapt adopt adept|upload unload|angel angle|dairy diary|quite quiet|trial trail
  casual causal|marital martial|widow window|country county|prescribe proscribe|lose loose|desert dessert
  through though thorough|public pubic|brother bother|infect inject|contract contrast|form from|united untied
  minor miner|major mayor|message massage|conserve converse|sing sign|singed signed|brake break|bread beard
  import impart|precede proceed|moral morale|personal personnel|principal principle|statue statute|sliver silver
  employer employee|trainer trainee|payer payee|lessor lessee|licensor licensee|assignor assignee|prince princess
  host ghost|plane planet|start star|party part|first fist|hear heart|cost coast|boast boat|live love|send spend
  word world|wold would|send seed|ingress egress|even seven|mother other|north forth|inner inter|sent spent
  rise rose|left lift|lent rent|read lead|white write|black block|green greed|sale sell|hired fired|tired tried
  women woman|men man|master mister|male mail|king kind|king ring|pass past|passed paused|opened ope
  mieten mietet|kaufen laufen|leiden leiten|bitten bieten|lesen losen|leben lieben|kirche kirsche|hand hund
  poisson poison|dessus dessous|cheveux chevaux|desert dessert|droit droite|chat chatte
  hombre hambre|pero perro|caro carro|
`
  .split(/[|\n]/)
  .map(setOf)
  .filter(({ size }) => size > 1)
