/**
 * The small word lists of the guards: denials, calendars, units and numbers, in English, German, French, Spanish,
 * Italian, Portuguese, Russian, Arabic, Hindi and Chinese. Keys are as written, and folded. They hold grammar, not topics: nothing here was taken from a data set.
 */

import { folded, setOf } from './fold.ts'

/** A run of letters. A new one each time, since it remembers where it was. */
export const lettersOf = (): RegExp => /[\p{L}\p{M}]+/gu

function mapOf<V>(lists: readonly (readonly [string, V])[]): ReadonlyMap<string, V> {
  return new Map(
    lists.flatMap(([words, value]) =>
      words.split(' ').flatMap((word) => [[word, value] as const, [folded(word), value] as const]),
    ),
  )
}

/** Words that say a number. Without those for one, which are articles and pronouns too. */
export const NUMBER_WORDS = mapOf<string>([
  ['zero null zéro cero', '0'],
  ['two zwei deux dos два две двух', '2'],
  ['three drei trois tres три трех तीन', '3'],
  ['four vier quatre cuatro quattro четыре четырех चार', '4'],
  ['five fünf cinq cinco cinque пять пяти पांच पाँच', '5'],
  ['six sechs seis шесть छह', '6'],
  ['seven sieben sept siete sette семь सात', '7'],
  ['eight acht huit ocho восемь आठ', '8'],
  ['nine neun neuf nueve девять नौ', '9'],
  ['ten zehn dix diez dieci десять दस', '10'],
  ['eleven elf onze', '11'],
  ['twelve zwölf douze doce', '12'],
  ['thirteen', '13'],
  ['fourteen', '14'],
  ['fifteen', '15'],
  ['sixteen', '16'],
  ['seventeen', '17'],
  ['eighteen', '18'],
  ['nineteen', '19'],
  ['twenty zwanzig vingt veinte двадцать बीस', '20'],
  ['thirty dreißig trente treinta тридцать', '30'],
  ['forty vierzig quarante cuarenta сорок', '40'],
  ['fifty fünfzig cinquante cincuenta пятьдесят', '50'],
  ['sixty', '60'],
  ['seventy', '70'],
  ['eighty', '80'],
  ['ninety', '90'],
])

const FRENCH =
  /(?<!\p{L})(?:est|et|[cç]a|va|les?|des|du|je|il|elle|[vn]ous|pas|aux?|sont)(?!\p{L})/iu

/** The number that a folded word says. Without its accent, French "très" looks like Spanish three. */
export function numberWord(form: string, word: string, text: () => string): string | undefined {
  const value = NUMBER_WORDS.get(form)
  // Sept. is a month.
  if (form === 'sept' && word !== 'sept') return undefined
  if (form === 'tres' && (word.toLowerCase() !== 'tres' || FRENCH.test(text()))) return undefined
  return value
}

/** Decimal places. */
export const SCALES = mapOf<number>([
  ['hundred hundert', 2],
  ['thousand k tausend mille mil тысяча тысячи тысяч हज़ार हजार', 3],
  ['लाख', 5],
  ['million millions mn mio millionen millón millones миллион миллиона миллионов', 6],
  ['करोड़', 7],
  [
    'billion billions bn milliarde milliarden milliard milliards mrd миллиард миллиарда миллиардов',
    9,
  ],
  ['trillion trillions', 12],
  ['万 萬', 4],
  ['亿 億', 8],
])

export const UNITS = mapOf<string>([
  ['% percent pct prozent pourcent процент процента процентов प्रतिशत 百分', 'percent'],
  ['$ US$ USD dollar dollars dólar dólares доллар доллара долларов डॉलर 美元', 'dollar'],
  ['€ EUR euro euros евро यूरो 欧元', 'euro'],
  ['£ GBP', 'sterling'],
  ['¥ 円 元 JPY CNY yen yuan', 'yen'],
  ['₹ INR rupee rupees रुपये रुपए', 'rupee'],
  ['₽ RUB руб рубль рубля рублей', 'ruble'],
  ['CHF francs', 'franc'],
  ['cent cents', 'cent'],
  [
    'kg kilo kilos kilogram kilograms kilogramm kilogramme кг килограмм килограмма килограммов किलो किलोग्राम 公斤 千克',
    'kilogram',
  ],
  ['g gram grams gramm gramme г грамм грамма граммов ग्राम 克', 'gram'],
  ['mg milligram milligrams milligramm milligramme мг миллиграмм मिलीग्राम 毫克', 'milligram'],
  ['lb lbs pound pounds pfund livre livres фунт фунта фунтов पाउंड 磅', 'pound'],
  ['oz ounce ounces', 'ounce'],
  ['t ton tons tonne tonnes tonnen тонна тонны тонн टन 吨', 'ton'],
  [
    'km kilometer kilometers kilometre kilometres kilomètre kilomètres kilómetro kilómetros км километр километра километров किलोमीटर किमी 公里 千米',
    'kilometre',
  ],
  [
    'm meter metern meters metre metres mètre mètres metro metros м метр метра метров मीटर 米',
    'metre',
  ],
  [
    'cm centimeter centimeters centimetre centimetres zentimeter centimètre centimètres см сантиметр сантиметра сантиметров सेंटीमीटर 厘米',
    'centimetre',
  ],
  [
    'mm millimeter millimeters millimètre millimètres мм миллиметр миллиметра миллиметров 毫米',
    'millimetre',
  ],
  ['mi mile miles meile meilen миля мили миль मील 英里', 'mile'],
  ['ft foot feet', 'foot'],
  ['inch inches', 'inch'],
  ['l liter liters litern litre litres litro litros л литр литра литров लीटर 升', 'litre'],
  ['ml milliliter milliliters millilitre millilitres мл मिलीलीटर 毫升', 'millilitre'],
  ['gallon gallons', 'gallon'],
  ['ms millisecond milliseconds', 'millisecond'],
  [
    's sec second seconds sekunde sekunden seconde secondes segundo segundos сек секунда секунды секунд सेकंड 秒',
    'second',
  ],
  ['min minute minutes minuten minuto minutos мин минута минуты минут मिनट 分钟', 'minute'],
  ['h hr hour hours stunde stunden heure heures hora horas час часа часов घंटे घंटा 小时', 'hour'],
  ['day days tag tage tagen jour jours día días день дня дней दिन 天', 'day'],
  [
    'week weeks woche wochen semaine semaines semana semanas неделя недели недель सप्ताह हफ़्ते हफ्ते 周',
    'week',
  ],
  ['month months monat monate monaten mois mes meses месяц месяца месяцев महीने महीना', 'month'],
  ['year years jahr jahre jahren an ans année années año años год года лет साल वर्ष 年', 'year'],
  ['°C °c celsius', 'celsius'],
  ['°F °f fahrenheit', 'fahrenheit'],
  ['KB kB kb', 'kilobyte'],
  ['MB mb', 'megabyte'],
  ['GB gb', 'gigabyte'],
  ['TB tb', 'terabyte'],
  ['am a.m', 'morning'],
  ['pm p.m', 'afternoon'],
])

/** Calendar words → what they name. */
export const CALENDAR = mapOf<string>([
  ['monday mon montag lundi lunes सोमवार lunedì понедельник понедельника الاثنين', 'weekday monday'],
  [
    'tuesday tue tues dienstag mardi martes मंगलवार martedì вторник вторника الثلاثاء',
    'weekday tuesday',
  ],
  [
    'wednesday wed mittwoch mercredi miércoles बुधवार mercoledì среда среду среды الأربعاء',
    'weekday wednesday',
  ],
  [
    'thursday thu thurs donnerstag jeudi jueves गुरुवार giovedì четверг четверга الخميس गुरूवार बृहस्पतिवार',
    'weekday thursday',
  ],
  [
    'friday fri freitag vendredi viernes शुक्रवार venerdì пятница пятницу пятницы الجمعة',
    'weekday friday',
  ],
  [
    'saturday samstag sonnabend samedi sábado शनिवार sabato суббота субботу субботы السبت',
    'weekday saturday',
  ],
  [
    'sunday sonntag dimanche domingo रविवार domenica воскресенье воскресенья الأحد',
    'weekday sunday',
  ],
  ['january jan januar janvier enero जनवरी janeiro gennaio январь января', 'month january'],
  [
    'february feb februar février febrero फ़रवरी fevereiro febbraio февраль февраля फरवरी',
    'month february',
  ],
  ['march märz mars marzo março март марта मार्च', 'month march'],
  ['april apr avril abril अप्रैल aprile апрель апреля', 'month april'],
  ['may mai mayo मई maggio май мая', 'month may'],
  ['june jun juni juin junio जून junho giugno июнь июня', 'month june'],
  ['july jul juli juillet julio जुलाई julho luglio июль июля', 'month july'],
  ['august aug août agosto अगस्त август августа', 'month august'],
  [
    'september sep sept septembre septiembre सितंबर setembro settembre сентябрь сентября',
    'month september',
  ],
  [
    'october oct oktober okt octobre octubre अक्टूबर outubro ottobre октябрь октября',
    'month october',
  ],
  ['november nov novembre noviembre नवंबर novembro ноябрь ноября', 'month november'],
  [
    'december dec dezember dez décembre diciembre दिसंबर dezembro dicembre декабрь декабря',
    'month december',
  ],
  ['today heute hoy oggi сегодня आज', 'day today'],
  ['yesterday gestern ayer ieri вчера', 'day yesterday'],
  ['tomorrow demain mañana domani завтра', 'day tomorrow'],
])

/** Calendar words that are other words when written small. */
export const CALENDAR_IF_CAPITAL = setOf('may march mars mai mon jan jun dec sep sept mayo')

/** Words that deny, and mean nothing else anywhere. */
export const NEGATIONS = setOf(`
  not no never none nobody nothing neither nor nowhere without cannot
  nicht kein keine keinen keinem keiner keines niemals nichts niemand ohne weder nirgends
  jamais aucun aucune
  nunca jamás nadie ningún ninguno ninguna tampoco
  não nem não nenhum nenhuma niet geen nooit zonder nessuno senza
  не нет ни никогда нельзя ничего никто никого без nigdy bez değil
  ليس ليست لم لن لا بدون
  नहीं नही मत बिना
  안 못
`)

/** Words that deny in one language and mean something else in another: they count in the company of their own. */
export const NEGATIONS_AMONG: readonly {
  readonly denials: ReadonlySet<string>
  readonly company: ReadonlySet<string>
}[] = [
  {
    denials: setOf('nie'),
    company: setOf('der die das und ist ein eine ich wir sie er es zu mit den dem habe hat'),
  },
  {
    denials: setOf('pas rien sans ni non'),
    company: setOf('le la les des et est une un que dans pour du je il elle nous vous ce sont'),
  },
  {
    denials: setOf('sin nada ni'),
    company: setOf('el la los las de que y en un una por con para es se lo su está'),
  },
  {
    denials: setOf('non mai'),
    company: setOf('il lo gli di che è per con una sono nel della ho ha e io mi si'),
  },
  { denials: setOf('nie'), company: setOf('i w na z się to jest że do jak po') },
  { denials: setOf('न ना'), company: setOf('है हैं का की के में को और से') },
]

/** The word for one, which counts only before a unit: elsewhere it is an article or a pronoun. */
export const ONE_WORDS = setOf(
  'one ein eine einen einem einer un une uno una um uma один одна одну एक',
)

/** Chinese denials, and the words in which the same characters deny nothing. */
export const HAN_NEGATION = /[不没沒无無未勿]|别(?=[\p{Script=Han}])|莫(?=[\p{Script=Han}])/gu
export const HAN_NOT_NEGATION =
  /不过|不過|不但|不仅|不僅|不断|不斷|不同(?!意)|不久|差不多|无论|無論|未来|未來|特别|特別|分别|区别|级别|性别|别人|莫名|非常/gu
