/**
 * The small word lists of the guards: function words, calendars, units and numbers, in English, German, French,
 * Spanish, Hindi and Chinese. They hold grammar, not topics: nothing here was taken from a data set.
 */

/** A run of letters. A new one each time, since it remembers where it was. */
export const lettersOf = (): RegExp => /[\p{L}\p{M}]+/gu

function mapOf<V>(lists: readonly (readonly [string, V])[]): ReadonlyMap<string, V> {
  return new Map(
    lists.flatMap(([words, value]) => words.split(' ').map((word) => [word, value] as const)),
  )
}

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/).filter(Boolean))

/** Words that say a number. Without those for one, which are articles and pronouns too. */
export const NUMBER_WORDS = mapOf<string>([
  ['zero null zéro cero', '0'],
  ['two zwei deux dos', '2'],
  ['three drei trois tres', '3'],
  ['four vier quatre cuatro', '4'],
  ['five fünf cinq cinco', '5'],
  ['six sechs seis', '6'],
  ['seven sieben sept siete', '7'],
  ['eight acht huit ocho', '8'],
  ['nine neun neuf nueve', '9'],
  ['ten zehn dix diez', '10'],
  ['eleven elf onze', '11'],
  ['twelve zwölf douze doce', '12'],
  ['thirteen', '13'],
  ['fourteen', '14'],
  ['fifteen', '15'],
  ['sixteen', '16'],
  ['seventeen', '17'],
  ['eighteen', '18'],
  ['nineteen', '19'],
  ['twenty zwanzig vingt veinte', '20'],
  ['thirty', '30'],
  ['forty', '40'],
  ['fifty', '50'],
  ['sixty', '60'],
  ['seventy', '70'],
  ['eighty', '80'],
  ['ninety', '90'],
])

/** Decimal places. */
export const SCALES = mapOf<number>([
  ['hundred hundert', 2],
  ['thousand k tausend mille mil हज़ार हजार', 3],
  ['लाख', 5],
  ['million millions mn mio millionen millón millones', 6],
  ['करोड़', 7],
  ['billion billions bn milliarde milliarden milliard milliards mrd', 9],
  ['trillion trillions', 12],
  ['万 萬', 4],
  ['亿 億', 8],
])

export const UNITS = mapOf<string>([
  ['% percent pct prozent pourcent 百分', 'percent'],
  ['$ US$ USD dollar dollars dólar dólares', 'dollar'],
  ['€ EUR euro euros', 'euro'],
  ['£ GBP', 'sterling'],
  ['¥ 円 元 JPY CNY yen yuan', 'yen'],
  ['₹ INR rupee rupees रुपये', 'rupee'],
  ['CHF francs', 'franc'],
  ['cent cents', 'cent'],
  ['kg kilo kilos kilogram kilograms kilogramm kilogramme', 'kilogram'],
  ['g gram grams gramm gramme', 'gram'],
  ['mg milligram milligrams', 'milligram'],
  ['lb lbs pound pounds', 'pound'],
  ['oz ounce ounces', 'ounce'],
  ['t ton tons tonne tonnes tonnen', 'ton'],
  ['km kilometer kilometers kilometre kilometres kilomètres kilómetros', 'kilometre'],
  ['m meter meters metre metres mètres metros', 'metre'],
  ['cm centimeter centimeters centimetre centimetres', 'centimetre'],
  ['mm millimeter millimeters', 'millimetre'],
  ['mi mile miles meilen', 'mile'],
  ['ft foot feet', 'foot'],
  ['inch inches', 'inch'],
  ['l liter liters litre litres', 'litre'],
  ['ml milliliter milliliters', 'millilitre'],
  ['gallon gallons', 'gallon'],
  ['ms millisecond milliseconds', 'millisecond'],
  ['s sec second seconds sekunde sekunden seconde secondes segundo segundos सेकंड 秒', 'second'],
  ['min minute minutes minuten minuto minutos मिनट 分钟', 'minute'],
  ['h hr hour hours stunde stunden heure heures hora horas घंटे', 'hour'],
  ['day days tag tage tagen jour jours día días दिन 天', 'day'],
  ['week weeks woche wochen semaine semaines semana semanas', 'week'],
  ['month months monat monate monaten mois mes meses', 'month'],
  ['year years jahr jahre jahren an ans année années año años साल 年', 'year'],
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
  ['monday mon montag lundi lunes सोमवार', 'weekday monday'],
  ['tuesday tue tues dienstag mardi martes मंगलवार', 'weekday tuesday'],
  ['wednesday wed mittwoch mercredi miércoles बुधवार', 'weekday wednesday'],
  ['thursday thu thurs donnerstag jeudi jueves गुरुवार', 'weekday thursday'],
  ['friday fri freitag vendredi viernes शुक्रवार', 'weekday friday'],
  ['saturday samstag sonnabend samedi sábado शनिवार', 'weekday saturday'],
  ['sunday sonntag dimanche domingo रविवार', 'weekday sunday'],
  ['january jan januar janvier enero जनवरी', 'month january'],
  ['february feb februar février febrero फ़रवरी', 'month february'],
  ['march märz mars marzo', 'month march'],
  ['april apr avril abril अप्रैल', 'month april'],
  ['may mai mayo मई', 'month may'],
  ['june jun juni juin junio जून', 'month june'],
  ['july jul juli juillet julio जुलाई', 'month july'],
  ['august aug août agosto अगस्त', 'month august'],
  ['september sep septembre septiembre सितंबर', 'month september'],
  ['october oct oktober okt octobre octubre अक्टूबर', 'month october'],
  ['november nov novembre noviembre नवंबर', 'month november'],
  ['december dec dezember dez décembre diciembre दिसंबर', 'month december'],
  ['today heute aujourd’hui hoy आज', 'day today'],
  ['yesterday gestern hier ayer', 'day yesterday'],
  ['tomorrow morgen demain mañana', 'day tomorrow'],
])

/** Calendar words that are other words when written small. */
export const CALENDAR_IF_CAPITAL = setOf('may march mars mai mon jan jun dec sep mayo')

/** Words that deny, and mean nothing else anywhere. */
export const NEGATIONS = setOf(`
  not no never none nobody nothing neither nor nowhere without cannot
  nicht kein keine keinen keinem keiner keines niemals nichts niemand ohne weder nirgends
  jamais aucun aucune
  nunca jamás nadie ningún ninguno ninguna tampoco
  नहीं नही मत बिना
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
    denials: setOf('ne pas rien sans ni non'),
    company: setOf('le la les des et est une un que dans pour du je il elle nous vous ce sont'),
  },
  {
    denials: setOf('sin nada ni'),
    company: setOf('el la los las de que y en un una por con para es se lo su está'),
  },
  { denials: setOf('न ना'), company: setOf('है हैं का की के में को और से') },
]

/** Chinese denials, and the words in which the same characters deny nothing. */
export const HAN_NEGATION = /[不没沒无無未勿]|别(?=[\p{Script=Han}])|莫(?=[\p{Script=Han}])/gu
export const HAN_NOT_NEGATION =
  /不过|不過|不但|不仅|不僅|不断|不斷|不同|不久|差不多|无论|無論|未来|未來|特别|特別|分别|区别|级别|性别|别人|莫名|非常/gu
