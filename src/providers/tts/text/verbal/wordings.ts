import { type Gender, frenchSpeller, GERMAN_SPELLER, type Speller, spanishSpeller } from './numbers.js';

/** The words of German, French and Spanish for what is written short. Read by european.ts. */

/** Singular, plural, and the gender of what is counted. */
export type Noun = readonly [one: string, many: string, gender: Gender];

/** A currency, with its hundredth if it has one. */
export type Currency = readonly [one: string, many: string, gender: Gender, cent?: Noun];

export interface Wording {
  /** In the language's own units: country for telephone numbers. */
  readonly country: string;
  readonly speller: Speller;
  readonly dot: string;
  readonly at: string;
  readonly dash: string;
  readonly underscore: string;
  readonly slash: string;
  readonly plus: string;
  readonly and: string;
  /** Of ranges: "9 bis 17". */
  readonly to: string;
  readonly per: string;
  readonly percent: string;
  readonly version: string;
  readonly times: string;
  readonly equals: string;
  readonly paragraph: string;
  readonly number: string;
  readonly months: readonly string[];
  readonly weekdays: Readonly<Record<string, string>>;
  /** @param before the word before the date */
  readonly date: (day: number, month: string, year: string, before: string) => string;
  /** @param named whether the clock word follows in writing: "19:30 Uhr" */
  readonly time: (hours: number, minutes: number, named: boolean) => string;
  readonly clockWord: RegExp;
  readonly currencies: Readonly<Record<string, Currency>>;
  /** Between whole and hundredths of money. */
  readonly centsAfter: string;
  readonly units: Readonly<Record<string, Noun>>;
  readonly magnitudes: Readonly<Record<string, readonly [one: string, many: string]>>;
  /** Behind millions stands a preposition: "deux millions d'euros". */
  readonly ofMagnitude: (noun: string) => string;
  /** With a full stop behind. */
  readonly abbreviations: Readonly<Record<string, string>>;
  /** Without one. */
  readonly short: Readonly<Record<string, string>>;
  /** The gender of a counted noun; `alone` for what is no noun. */
  readonly genderOf: (word: string) => Gender;
  /** Words before a number that is a name, not a count: "Zimmer 1". */
  readonly labels: RegExp;
  /** Words before what is said digit by digit. */
  readonly codes: RegExp;
  /** Words before a year, where a year is not said like a number. */
  readonly years: RegExp | null;
  /** "1/2" of a noun of this gender, and without one; "3/4"; "2 1/2". */
  readonly half: (gender: Gender) => string;
  readonly fraction: (above: number, below: number) => string;
  readonly andHalf: (whole: number) => string;
  /** The ordinal number that a word is, behind a word and before one; null for another word. */
  readonly ordinal: (core: string, tail: string, before: string, after: string) => string | null;
  /** What a Roman number is; null for what is none. */
  readonly roman: (value: number, before: string, after: string, tail: string) => string | null;
  readonly initials: ReadonlySet<string>;
}

const list = (words: string): string[] => words.split(' ');

const MASCULINE = 'masculine' as const;
const FEMININE = 'feminine' as const;
const NEUTER = 'neuter' as const;

const GERMAN_UNITS: Readonly<Record<string, Noun>> = {
  km: ['Kilometer', 'Kilometer', MASCULINE], m: ['Meter', 'Meter', MASCULINE], cm: ['Zentimeter', 'Zentimeter', MASCULINE],
  mm: ['Millimeter', 'Millimeter', MASCULINE], kg: ['Kilogramm', 'Kilogramm', NEUTER], g: ['Gramm', 'Gramm', NEUTER],
  mg: ['Milligramm', 'Milligramm', NEUTER], t: ['Tonne', 'Tonnen', FEMININE], l: ['Liter', 'Liter', MASCULINE], L: ['Liter', 'Liter', MASCULINE],
  ml: ['Milliliter', 'Milliliter', MASCULINE], 'km/h': ['Kilometer pro Stunde', 'Kilometer pro Stunde', MASCULINE],
  'm/s': ['Meter pro Sekunde', 'Meter pro Sekunde', MASCULINE], 'm²': ['Quadratmeter', 'Quadratmeter', MASCULINE], qm: ['Quadratmeter', 'Quadratmeter', MASCULINE],
  'km²': ['Quadratkilometer', 'Quadratkilometer', MASCULINE], 'm³': ['Kubikmeter', 'Kubikmeter', MASCULINE], ha: ['Hektar', 'Hektar', MASCULINE],
  Min: ['Minute', 'Minuten', FEMININE], min: ['Minute', 'Minuten', FEMININE], Std: ['Stunde', 'Stunden', FEMININE], h: ['Stunde', 'Stunden', FEMININE],
  Sek: ['Sekunde', 'Sekunden', FEMININE], s: ['Sekunde', 'Sekunden', FEMININE], kWh: ['Kilowattstunde', 'Kilowattstunden', FEMININE],
  kW: ['Kilowatt', 'Kilowatt', NEUTER], W: ['Watt', 'Watt', NEUTER], V: ['Volt', 'Volt', NEUTER], MB: ['Megabyte', 'Megabyte', NEUTER],
  GB: ['Gigabyte', 'Gigabyte', NEUTER], TB: ['Terabyte', 'Terabyte', NEUTER], MHz: ['Megahertz', 'Megahertz', NEUTER], GHz: ['Gigahertz', 'Gigahertz', NEUTER],
  '°C': ['Grad Celsius', 'Grad Celsius', MASCULINE], '°F': ['Grad Fahrenheit', 'Grad Fahrenheit', MASCULINE], '°': ['Grad', 'Grad', MASCULINE],
  'Mbit/s': ['Megabit pro Sekunde', 'Megabit pro Sekunde', NEUTER], dB: ['Dezibel', 'Dezibel', NEUTER], PS: ['PS', 'PS', NEUTER], kcal: ['Kilokalorie', 'Kilokalorien', FEMININE],
}; // prettier-ignore

const GERMAN_ABBREVIATIONS: Readonly<Record<string, string>> = {
  'z.B': 'zum Beispiel', 'd.h': 'das heißt', 'u.a': 'unter anderem', 'i.d.R': 'in der Regel', 'u.U': 'unter Umständen', 'o.ä': 'oder ähnlich', 's.o': 'siehe oben',
  'z.T': 'zum Teil', 'v.a': 'vor allem', 'z.Hd': 'zu Händen', 'm.E': 'meines Erachtens',
  bzw: 'beziehungsweise', usw: 'und so weiter', etc: 'et cetera', ca: 'circa', Nr: 'Nummer', Tel: 'Telefon', Str: 'Straße', inkl: 'inklusive', exkl: 'exklusive',
  zzgl: 'zuzüglich', ggf: 'gegebenenfalls', evtl: 'eventuell', max: 'maximal', mind: 'mindestens', min: 'minimal', vgl: 'vergleiche', Dr: 'Doktor', Prof: 'Professor',
  Hr: 'Herr', Fr: 'Frau', St: 'Sankt', Abs: 'Absatz', Art: 'Artikel', Kap: 'Kapitel', Abt: 'Abteilung', geb: 'geboren', gest: 'gestorben', Std: 'Stunden', Min: 'Minuten',
  Sek: 'Sekunden', Mio: 'Millionen', Mrd: 'Milliarden', Tsd: 'Tausend', Bd: 'Band', S: 'Seite', Jh: 'Jahrhundert', Mwst: 'Mehrwertsteuer', tgl: 'täglich', telef: 'telefonisch', Stk: 'Stück', 
  Jan: 'Januar', Feb: 'Februar', Apr: 'April', Aug: 'August', Sep: 'September', Sept: 'September', Okt: 'Oktober', Nov: 'November', Dez: 'Dezember', allg: 'allgemein', bspw: 'beispielsweise', sog: 'sogenannt',
}; // prettier-ignore

const FRENCH_UNITS: Readonly<Record<string, Noun>> = {
  km: ['kilomètre', 'kilomètres', MASCULINE], m: ['mètre', 'mètres', MASCULINE], cm: ['centimètre', 'centimètres', MASCULINE], mm: ['millimètre', 'millimètres', MASCULINE],
  kg: ['kilogramme', 'kilogrammes', MASCULINE], g: ['gramme', 'grammes', MASCULINE], mg: ['milligramme', 'milligrammes', MASCULINE], t: ['tonne', 'tonnes', FEMININE],
  l: ['litre', 'litres', MASCULINE], L: ['litre', 'litres', MASCULINE], ml: ['millilitre', 'millilitres', MASCULINE], cl: ['centilitre', 'centilitres', MASCULINE],
  'km/h': ['kilomètre heure', 'kilomètres heure', MASCULINE], 'm/s': ['mètre par seconde', 'mètres par seconde', MASCULINE], 'm²': ['mètre carré', 'mètres carrés', MASCULINE],
  'km²': ['kilomètre carré', 'kilomètres carrés', MASCULINE], 'm³': ['mètre cube', 'mètres cubes', MASCULINE], ha: ['hectare', 'hectares', MASCULINE],
  h: ['heure', 'heures', FEMININE], min: ['minute', 'minutes', FEMININE], mn: ['minute', 'minutes', FEMININE], s: ['seconde', 'secondes', FEMININE],
  kWh: ['kilowattheure', 'kilowattheures', MASCULINE], kW: ['kilowatt', 'kilowatts', MASCULINE], W: ['watt', 'watts', MASCULINE], V: ['volt', 'volts', MASCULINE],
  Mo: ['mégaoctet', 'mégaoctets', MASCULINE], Go: ['gigaoctet', 'gigaoctets', MASCULINE], To: ['téraoctet', 'téraoctets', MASCULINE], GHz: ['gigahertz', 'gigahertz', MASCULINE],
  '°C': ['degré Celsius', 'degrés Celsius', MASCULINE], '°F': ['degré Fahrenheit', 'degrés Fahrenheit', MASCULINE], '°': ['degré', 'degrés', MASCULINE], dB: ['décibel', 'décibels', MASCULINE],
  'Mbit/s': ['mégabit par seconde', 'mégabits par seconde', MASCULINE],
}; // prettier-ignore

const FRENCH_ABBREVIATIONS: Readonly<Record<string, string>> = {
  'p.ex': 'par exemple', 'c.-à-d': "c'est-à-dire", etc: 'et cetera', env: 'environ', Tél: 'téléphone', tél: 'téléphone', M: 'Monsieur', MM: 'Messieurs', av: 'avenue', Av: 'Avenue',
  bd: 'boulevard', Bd: 'Boulevard', boul: 'boulevard', max: 'maximum', min: 'minimum', apr: 'après', janv: 'janvier', févr: 'février', avr: 'avril', juil: 'juillet', sept: 'septembre',
  oct: 'octobre', nov: 'novembre', déc: 'décembre', rdv: 'rendez-vous', réf: 'référence', Réf: 'référence', p: 'page', vol: 'volume', chap: 'chapitre', art: 'article', fig: 'figure', Dr: 'Docteur', Me: 'Maître', adr: 'adresse', hab: 'habitants', arr: 'arrondissement', ex: 'exemple', cf: 'confer', St: 'Saint', Ste: 'Sainte',
}; // prettier-ignore

const SPANISH_UNITS: Readonly<Record<string, Noun>> = {
  km: ['kilómetro', 'kilómetros', MASCULINE], m: ['metro', 'metros', MASCULINE], cm: ['centímetro', 'centímetros', MASCULINE], mm: ['milímetro', 'milímetros', MASCULINE],
  kg: ['kilogramo', 'kilogramos', MASCULINE], g: ['gramo', 'gramos', MASCULINE], mg: ['miligramo', 'miligramos', MASCULINE], t: ['tonelada', 'toneladas', FEMININE],
  l: ['litro', 'litros', MASCULINE], L: ['litro', 'litros', MASCULINE], ml: ['mililitro', 'mililitros', MASCULINE], cl: ['centilitro', 'centilitros', MASCULINE],
  'km/h': ['kilómetro por hora', 'kilómetros por hora', MASCULINE], 'm/s': ['metro por segundo', 'metros por segundo', MASCULINE], 'm²': ['metro cuadrado', 'metros cuadrados', MASCULINE],
  'km²': ['kilómetro cuadrado', 'kilómetros cuadrados', MASCULINE], 'm³': ['metro cúbico', 'metros cúbicos', MASCULINE], ha: ['hectárea', 'hectáreas', FEMININE],
  h: ['hora', 'horas', FEMININE], min: ['minuto', 'minutos', MASCULINE], s: ['segundo', 'segundos', MASCULINE], kWh: ['kilovatio hora', 'kilovatios hora', MASCULINE],
  kW: ['kilovatio', 'kilovatios', MASCULINE], W: ['vatio', 'vatios', MASCULINE], V: ['voltio', 'voltios', MASCULINE], MB: ['megabyte', 'megabytes', MASCULINE],
  GB: ['gigabyte', 'gigabytes', MASCULINE], TB: ['terabyte', 'terabytes', MASCULINE], GHz: ['gigahercio', 'gigahercios', MASCULINE], dB: ['decibelio', 'decibelios', MASCULINE],
  '°C': ['grado Celsius', 'grados Celsius', MASCULINE], '°F': ['grado Fahrenheit', 'grados Fahrenheit', MASCULINE], '°': ['grado', 'grados', MASCULINE],
  'Mbit/s': ['megabit por segundo', 'megabits por segundo', MASCULINE],
}; // prettier-ignore

const SPANISH_ABBREVIATIONS: Readonly<Record<string, string>> = {
  'p.ej': 'por ejemplo', etc: 'etcétera', aprox: 'aproximadamente', Tel: 'teléfono', tel: 'teléfono', Tfno: 'teléfono', núm: 'número', Núm: 'número', Sr: 'señor', Sra: 'señora', Srta: 'señorita',
  Sres: 'señores', Dr: 'doctor', Dra: 'doctora', D: 'don', Dª: 'doña', Dña: 'doña', Avda: 'avenida', Av: 'avenida', Ud: 'usted', Uds: 'ustedes', Vd: 'usted', máx: 'máximo', mín: 'mínimo', pág: 'página',
  págs: 'páginas', Prof: 'profesor', Ing: 'ingeniero', Lic: 'licenciado', ext: 'extensión', Ext: 'extensión', Pza: 'plaza', Pl: 'plaza', izq: 'izquierda', dcha: 'derecha', pto: 'punto', cap: 'capítulo', art: 'artículo',
  vol: 'volumen', dpto: 'departamento', Dpto: 'departamento', ene: 'enero', feb: 'febrero', abr: 'abril', ago: 'agosto', sept: 'septiembre', oct: 'octubre', nov: 'noviembre', dic: 'diciembre', 'a.C': 'antes de Cristo', 'd.C': 'después de Cristo', 'EE.UU': 'Estados Unidos', 'S.A': 'sociedad anónima', min: 'minutos', c: 'calle', C: 'calle', mill: 'millones', Sto: 'Santo', Sta: 'Santa',
}; // prettier-ignore

const GERMAN_ENDINGS: readonly [RegExp, string][] = [
  [
    /^(?:am|im|zum|beim|vom|den|dem|des|der\s|ab|bis|seit|einen|einem|unserem|unseren|diesem|diesen|jeden|jedem|und|oder)$/iu,
    'en',
  ],
  [/^(?:der|die|das|dieser|diese|dieses|jede)$/iu, 'e'],
  [/^(?:ein|mein|ihr|sein|kein)$/iu, 'er'],
];
const germanOrdinal = (value: number, before: string): string =>
  GERMAN_SPELLER.ordinal(value, GERMAN_ENDINGS.find(([words]) => words.test(before))?.[1] ?? 'er');
const GERMAN_MONTH = /^(?:jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez|jän)/iu;
const GERMAN_FEMININE =
  /(?:ung|heit|keit|schaft|tion|tät|ei|ie|ik|ur|enz|anz)$|^(?:nacht|person|woche|stunde|minute|sekunde|flasche|tasse|karte|seite|tür|straße|adresse|frage|reservierung|buchung|nummer|etage|möglichkeit|million|milliarde|tonne|dose|suite|anfrage|rückfrage|mark|unze|meile|pizza|portion|stimme|treppe|sache|pause|runde|gruppe|familie|schule|klasse|million|wohnung|hand|stadt|tüte|kiste|packung|kugel|scheibe|mail|e-mail|app)$/iu;
const GERMAN_NEUTER =
  /(?:chen|lein|ment|um)$|^(?:jahr|zimmer|bett|kind|haus|stück|prozent|kilo|kilogramm|gramm|pfund|bier|glas|wasser|ticket|auto|mal|paar|getränk|ei|brot|hotel|buch|paket|angebot|problem|gericht|menü)$/iu;

export function germanWording(region: string): Wording {
  const cardinal = GERMAN_SPELLER.cardinal;
  const cent: Noun = ['Cent', 'Cent', MASCULINE];
  const parts: Readonly<Record<number, string>> = { 2: 'halb', 3: 'Drittel', 4: 'Viertel', 5: 'Fünftel', 6: 'Sechstel', 7: 'Siebtel', 8: 'Achtel', 10: 'Zehntel', 100: 'Hundertstel' };
  return {
    country: region === 'CH' || region === 'AT' ? region : 'DE',
    speller: GERMAN_SPELLER,
    dot: 'Punkt', at: 'ät', dash: 'Bindestrich', underscore: 'Unterstrich', slash: 'Schrägstrich', plus: 'plus', and: 'und',
    to: 'bis', per: 'pro', percent: 'Prozent', version: 'Version', times: 'mal', equals: 'gleich', paragraph: 'Paragraf', number: 'Nummer',
    months: list(region === 'AT' ? 'Jänner Februar März April Mai Juni Juli August September Oktober November Dezember' : 'Januar Februar März April Mai Juni Juli August September Oktober November Dezember'),
    weekdays: { Mo: 'Montag', Di: 'Dienstag', Mi: 'Mittwoch', Do: 'Donnerstag', Fr: 'Freitag', Sa: 'Samstag', So: 'Sonntag' },
    date: (day, month, year, before) => `${germanOrdinal(day, before)} ${month}${year === '' ? '' : ` ${GERMAN_SPELLER.year(Number(year))}`}`,
    time: (hours, minutes) => `${cardinal(hours, MASCULINE)} Uhr${minutes === 0 ? '' : ` ${cardinal(minutes)}`}`,
    clockWord: /^Uhr$/u,
    currencies: {
      '€': ['Euro', 'Euro', MASCULINE, cent], $: ['Dollar', 'Dollar', MASCULINE, cent], '£': ['Pfund', 'Pfund', NEUTER, ['Penny', 'Pence', MASCULINE]],
      CHF: ['Franken', 'Franken', MASCULINE, ['Rappen', 'Rappen', MASCULINE]], '¥': ['Yen', 'Yen', MASCULINE],
    },
    centsAfter: ' ',
    units: GERMAN_UNITS,
    magnitudes: { Mio: ['Million', 'Millionen'], Mrd: ['Milliarde', 'Milliarden'], Tsd: ['Tausend', 'Tausend'] },
    ofMagnitude: (noun) => noun,
    abbreviations: GERMAN_ABBREVIATIONS,
    short: { '24/7': 'vierundzwanzig sieben', MwSt: 'Mehrwertsteuer', PLZ: 'Postleitzahl', Hbf: 'Hauptbahnhof' },
    genderOf: (word) => (!/^\p{Lu}\p{L}{1,}$/u.test(word) ? 'alone' : GERMAN_FEMININE.test(word) ? FEMININE : GERMAN_NEUTER.test(word) ? NEUTER : MASCULINE),
    labels: /^(?:zimmer|nummer|nr|seite|kapitel|gleis|linie|raum|tisch|platz|stufe|version|option|schritt|teil|band|klasse|punkt|gate|flug|ausgang|tor|halle|taste|die)$/iu,
    codes: /^(?:code|pin|bestellnummer|auftragsnummer|kundennummer|rechnungsnummer|vorgangsnummer|postleitzahl|plz|kontonummer|ticketnummer|buchungsnummer|nummer|d|id)$/iu,
    years: /^(?:jahr|jahre|jahres|seit|anno|sommer|winter|herbst|frühjahr|frühling|ende|anfang|mitte|baujahr|januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|im|in|von|bis|um|ab|vor|nach|geboren)$/iu,
    half: (gender) => (gender === FEMININE ? 'eine halbe' : gender === NEUTER ? 'ein halbes' : gender === MASCULINE ? 'ein halber' : 'ein halb'),
    fraction: (above, below) => {
      const part = parts[below] ?? `${cardinal(below, MASCULINE)}${below < 20 ? 'tel' : 'stel'}`;
      return `${cardinal(above, MASCULINE)} ${part.slice(0, 1).toUpperCase()}${part.slice(1)}`;
    },
    andHalf: (whole) => `${cardinal(whole, MASCULINE)}einhalb`,
    // "am 3. Mai", "im 2. Stock", "das 21. Jahrhundert": behind an article or preposition, before a noun.
    ordinal: (core, tail, before, after) => {
      const [, digits = '', stop = ''] = /^(\d{1,4})(\.?)$/u.exec(core) ?? [];
      const [, first = '', second = ''] = /^(\d{1,2})\.\/(\d{1,2})$/u.exec(core) ?? [];
      if (first !== '' && tail === '.' && GERMAN_MONTH.test(after)) return `${germanOrdinal(Number(first), before)}, ${germanOrdinal(Number(second), before)}`;
      if (digits === '' || (stop === '' && tail !== '.')) return null;
      const isMonth = GERMAN_MONTH.test(after);
      const isLed = (GERMAN_ENDINGS.some(([words]) => words.test(before)) && !/^(?:und|oder)$/iu.test(before)) || /^(?:jeder|unser|ihrem|seinem|meinem)$/iu.test(before);
      if (!isMonth && !(isLed && /^(?:\p{Lu}\p{L}|\p{Ll}{2})/u.test(after)) && !/^(?:Jahrhundert|Stock|Etage|Klasse|Platz|Mal|Semester|Geburtstag)/u.test(after)) return null;
      return Number(digits) === 0 ? null : germanOrdinal(Number(digits), before);
    },
    // "Ludwig XIV." is "Ludwig der Vierzehnte".
    roman: (value, before, after, tail) => {
      if (/^(?:Kapitel|Teil|Band|Akt|Weltkrieg|Stufe|Klasse|Artikel|Abschnitt|Windows|Level|Phase|Kategorie)$/u.test(before)) return cardinal(value);
      const isKing = /^(?:Ludwig|Friedrich|Wilhelm|Heinrich|Karl|Otto|Elisabeth|Katharina|Johannes|Paul|Benedikt|Franz|Georg|Philipp|Leopold|Charles)$/u.test(before);
      if (isKing && tail.startsWith('.')) {
        const said = GERMAN_SPELLER.ordinal(value, 'e');
        return `${/^(?:Elisabeth|Katharina)$/u.test(before) ? 'die' : 'der'} ${said.slice(0, 1).toUpperCase()}${said.slice(1)}`;
      }
      return tail.startsWith('.') && /^(?:Jahrhundert|Weltkrieg|Quartal)/u.test(after) ? germanOrdinal(value, before) : null;
    },
    initials: new Set(list('USA EU AG KI EDV IT UKW GmbH ICE ARD AOK')),
  }; // prettier-ignore
} // prettier-ignore

const FRENCH_FEMININE =
  /(?:tion|sion|ées?|ettes?|euses?|ances?|ences?|ures?|ités?|aisons?|erie|eries)$|^(?:personnes?|chambres?|tables?|places?|nuits?|semaines?|heures?|minutes?|secondes?|fois|pages?|cartes?|livres?|bouteilles?|tasses?|pi[eè]ces?|rues?|lignes?|portes?|femmes?|filles?|voitures?|tonnes?|douzaines?|demi-heures?|clés?|boîtes?|parts?|tranches?|piscines?|valises?|offres?|demandes?|adresses?|villes?|pizzas?|bi[eè]res?|suites?|étoiles?|couronnes?|roupies?|salles?|entrées?|années?|journées?|soirées?|unités?)$/iu;
const FRENCH_FUNCTION =
  /^(?:de|du|des|et|ou|à|a|au|aux|en|est|sont|pour|par|sur|dans|que|qui|le|la|les|un|une|mais|avec|sans|si|ne|pas|ce|cela|c'est|plus|moins|fois|puis|alors|virgule)$/iu;

export function frenchWording(region: string): Wording {
  const speller = frenchSpeller(region);
  const { cardinal } = speller;
  const cent: Noun = ['centime', 'centimes', MASCULINE];
  const parts: Readonly<Record<number, Noun>> = { 2: ['demi', 'demis', MASCULINE], 3: ['tiers', 'tiers', MASCULINE], 4: ['quart', 'quarts', MASCULINE] };
  return {
    country: region === 'CA' || region === 'CH' || region === 'BE' ? region : 'FR',
    speller,
    dot: 'point', at: 'arobase', dash: 'tiret', underscore: 'tiret bas', slash: 'barre oblique', plus: 'plus', and: 'et',
    to: 'à', per: 'par', percent: 'pour cent', version: 'version', times: 'fois', equals: 'égale', paragraph: 'paragraphe', number: 'numéro',
    months: list('janvier février mars avril mai juin juillet août septembre octobre novembre décembre'),
    weekdays: { lun: 'lundi', mar: 'mardi', mer: 'mercredi', jeu: 'jeudi', ven: 'vendredi', sam: 'samedi', dim: 'dimanche' },
    date: (day, month, year) => `${day === 1 ? 'premier' : cardinal(day)} ${month}${year === '' ? '' : ` ${cardinal(Number(year))}`}`,
    time: (hours, minutes) => `${cardinal(hours, FEMININE)} heure${hours < 2 ? '' : 's'}${minutes === 0 ? '' : ` ${cardinal(minutes)}`}`,
    clockWord: /^(?:h|heures?)$/u,
    currencies: {
      '€': ['euro', 'euros', MASCULINE, cent], $: ['dollar', 'dollars', MASCULINE, ['cent', 'cents', MASCULINE]], '£': ['livre', 'livres', FEMININE, ['penny', 'pence', MASCULINE]],
      CHF: ['franc', 'francs', MASCULINE, cent], '¥': ['yen', 'yens', MASCULINE],
    },
    centsAfter: ' ',
    units: FRENCH_UNITS,
    magnitudes: { M: ['million', 'millions'], Md: ['milliard', 'milliards'], Mds: ['milliard', 'milliards'], k: ['mille', 'mille'], million: ['million', 'millions'], millions: ['million', 'millions'], milliard: ['milliard', 'milliards'], milliards: ['milliard', 'milliards'] },
    ofMagnitude: (noun) => (/^[aeiouyéh]/iu.test(noun) ? `d'${noun}` : `de ${noun}`),
    abbreviations: FRENCH_ABBREVIATIONS,
    short: { '24/7': 'vingt-quatre heures sur vingt-quatre, sept jours sur sept', '24h/24': 'vingt-quatre heures sur vingt-quatre', '7j/7': 'sept jours sur sept', Mme: 'Madame', Mmes: 'Mesdames', Mlle: 'Mademoiselle', Mlles: 'Mesdemoiselles', Dr: 'Docteur', Me: 'Maître', Pr: 'Professeur', Bd: 'Boulevard', bd: 'boulevard', 'n°': 'numéro', 'N°': 'numéro', rdv: 'rendez-vous', RDV: 'rendez-vous', tél: 'téléphone', Ste: 'Sainte', St: 'Saint', Cie: 'compagnie', TTC: 'toutes taxes comprises', 'ex-': 'ex' },
    genderOf: (word) => (!/^\p{L}{2,}$/u.test(word) || (FRENCH_FUNCTION.test(word) && word !== 'fois') ? 'alone' : FRENCH_FEMININE.test(word) ? FEMININE : MASCULINE),
    labels: /^(?:chambre|numéro|n°|page|étape|ligne|porte|salle|table|quai|voie|chapitre|article|option|version|niveau|bus|tram|classe|touche|le|la)$/iu,
    codes: /^(?:code|pin|référence|dossier|client|réservation|commande|facture|identifiant)$/iu,
    years: null,
    half: (gender) => (gender === FEMININE ? 'une demi' : 'un demi'),
    fraction: (above, below) => {
      const part = parts[below] ?? [speller.ordinal(below), `${speller.ordinal(below)}s`, MASCULINE];
      return `${cardinal(above)} ${part[above === 1 ? 0 : 1]}`;
    },
    andHalf: (whole) => `${cardinal(whole)} et demi`,
    // "1er", "1re", "2e", "2ème", "21es".
    ordinal: (core) => {
      const [, digits = '', ending = ''] = /^(\d{1,4})(er|ers|re|res|ère|ères|e|es|ème|èmes|nd|nde)$/u.exec(core) ?? [];
      if (digits === '' || digits === '0') return null;
      if (digits === '2' && ending.startsWith('nd')) return ending === 'nd' ? 'second' : 'seconde';
      const isFeminine = /^(?:re|res|ère|ères)$/u.test(ending);
      return speller.ordinal(Number(digits), isFeminine ? 'feminine' : '') + (ending.endsWith('s') ? 's' : '');
    },
    roman: (value, before, after) => {
      if (/^(?:siècles?|arrondissement|République)$/u.test(after)) return speller.ordinal(value, after === 'République' ? 'feminine' : '');
      const isNamed = /^(?:Louis|Henri|Charles|François|Napoléon|Philippe|Jean|Paul|Benoît|Élisabeth|Elisabeth|Pie|Guillaume|Albert|Léopold|Jean-Paul)$/u.test(before);
      return isNamed || /^(?:chapitre|tome|acte|partie|volume|titre|article|niveau|phase|mondiale|Vatican)$/iu.test(before) ? cardinal(value) : null;
    },
    initials: new Set(list('UE SA TVA EURL RER SAV IA USA EDF')),
  }; // prettier-ignore
} // prettier-ignore

const SPANISH_FUNCTION =
  /^(?:de|del|y|o|u|e|a|al|en|es|son|por|para|que|con|sin|el|la|los|las|un|una|se|si|no|más|menos|está|están|como|pero|punto|coma|hasta|desde|entre|ni)$/iu;
const SPANISH_MASCULINE =
  /^(?:días?|problemas?|mapas?|programas?|sistemas?|temas?|idiomas?|climas?|planetas?|poemas?|dramas?|kilos?)$/iu;
const SPANISH_FEMININE =
  /(?:as?|ción|ciones|sión|siones|dad|dades|tud|tudes)$|^(?:noches?|veces|vez|partes?|calles?|llaves?|clases?|tardes?|leyes|manos?|fotos?|motos?|mujer|mujeres|imagen|imágenes|órdenes|orden|sesiones)$/iu;

/** Where "$" is a peso, and where numbers are written with a decimal point. */
const PESOS = new Set(['MX', 'AR', 'CL', 'CO', 'UY', 'DO', 'CU']);
const DECIMAL_POINT = new Set(['MX', 'US', 'GT', 'HN', 'NI', 'PA', 'PE', 'PR', 'SV', 'DO']);
const EUROPEAN = new Set(['', 'ES']);

export function spanishWording(region: string): Wording {
  const speller = spanishSpeller(DECIMAL_POINT.has(region) ? '.' : ',');
  const { cardinal } = speller;
  const isEuropean = EUROPEAN.has(region);
  const dollar: Currency = PESOS.has(region)
    ? ['peso', 'pesos', MASCULINE, ['centavo', 'centavos', MASCULINE]]
    : ['dólar', 'dólares', MASCULINE, ['centavo', 'centavos', MASCULINE]];
  const parts: Readonly<Record<number, string>> = { 2: 'medio', 3: 'tercio', 4: 'cuarto', 5: 'quinto', 6: 'sexto', 7: 'séptimo', 8: 'octavo', 9: 'noveno', 10: 'décimo' };
  return {
    country: isEuropean || region === '419' ? 'ES' : region,
    speller,
    dot: 'punto', at: 'arroba', dash: 'guion', underscore: 'guion bajo', slash: 'barra', plus: 'más', and: 'y',
    to: 'a', per: 'por', percent: 'por ciento', version: 'versión', times: 'por', equals: 'igual a', paragraph: 'apartado', number: 'número',
    months: list('enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'),
    weekdays: { lun: 'lunes', mar: 'martes', mié: 'miércoles', jue: 'jueves', vie: 'viernes', sáb: 'sábado', dom: 'domingo' },
    date: (day, month, year) => `${day === 1 && !isEuropean ? 'primero' : cardinal(day)} de ${month}${year === '' ? '' : ` de ${cardinal(Number(year))}`}`,
    time: (hours, minutes, named) => {
      const hour = cardinal(hours, FEMININE);
      if (minutes === 0) return named ? `${hour} hora${hours === 1 ? '' : 's'}` : hour;
      return minutes < 10 ? `${hour} y ${cardinal(minutes)}` : `${hour} ${cardinal(minutes)}`;
    },
    clockWord: /^(?:h|hs|hrs|horas?)$/u,
    currencies: {
      '€': ['euro', 'euros', MASCULINE, ['céntimo', 'céntimos', MASCULINE]], $: dollar, '£': ['libra', 'libras', FEMININE, ['penique', 'peniques', MASCULINE]],
      CHF: ['franco', 'francos', MASCULINE, ['céntimo', 'céntimos', MASCULINE]], MXN: ['peso', 'pesos', MASCULINE, ['centavo', 'centavos', MASCULINE]], USD: ['dólar', 'dólares', MASCULINE, ['centavo', 'centavos', MASCULINE]], '¥': ['yen', 'yenes', MASCULINE],
    },
    centsAfter: ' con ',
    units: SPANISH_UNITS,
    magnitudes: { M: ['millón', 'millones'], mill: ['millón', 'millones'], mills: ['millón', 'millones'], millón: ['millón', 'millones'], millones: ['millón', 'millones'] },
    ofMagnitude: (noun) => `de ${noun}`,
    abbreviations: SPANISH_ABBREVIATIONS,
    short: { '24/7': 'veinticuatro siete', 'c/': 'calle', 'C/': 'calle', 'n.º': 'número', 'nº': 'número', 'Nº': 'número', 'n°': 'número', Dña: 'doña', Sra: 'señora', Sr: 'señor', EEUU: 'Estados Unidos', IVA: 'IVA', 'c/u': 'cada uno' },
    genderOf: (word) => {
      if (!/^\p{L}{2,}$/u.test(word) || SPANISH_FUNCTION.test(word)) return 'alone';
      return SPANISH_FEMININE.test(word) && !SPANISH_MASCULINE.test(word) ? FEMININE : MASCULINE;
    },
    labels: /^(?:habitación|número|puerta|página|capítulo|línea|planta|sala|opción|nivel|grupo|paso|mesa|andén|vía|versión|artículo|tecla|el|la)$/iu,
    codes: /^(?:código|pin|pedido|referencia|reserva|factura|cliente|expediente|postal|localizador)$/iu,
    years: null,
    half: (gender) => (gender === FEMININE ? 'media' : gender === 'alone' ? 'un medio' : 'medio'),
    fraction: (above, below) => `${cardinal(above, MASCULINE)} ${parts[below] ?? `${cardinal(below).replace(/o?s?$/, '')}avo`}${above === 1 ? '' : 's'}`,
    andHalf: (whole) => `${cardinal(whole)} y medio`,
    // "1.º", "2ª", "1er", "3ro".
    ordinal: (core, _tail, _before, after) => {
      const [, digits = '', ending = ''] = /^(\d{1,3})\.?(º|ª|o|a|er|ro|ra|do|da|to|ta|°)$/u.exec(core) ?? [];
      if (digits === '' || digits === '0' || (ending === '°' && /^[CF]$/.test(after))) return null;
      const isShort = ending === 'er' || (/^[º°]$/u.test(ending) && SPANISH_NOUN.test(after) && !SPANISH_FUNCTION.test(after));
      return speller.ordinal(Number(digits), /^(?:ª|a|ra|da|ta)$/u.test(ending) ? 'feminine' : isShort ? 'short' : '');
    },
    roman: (value, before) => {
      if (/^(?:siglo|siglos|capítulo|tomo|acto|parte|volumen|título|nivel|fase|Mundial)$/iu.test(before)) return cardinal(value);
      const queen = /^(?:Isabel|Cristina|Catalina|Margarita)$/u.test(before);
      const king = /^(?:Felipe|Carlos|Alfonso|Luis|Fernando|Enrique|Juan|Pablo|Benedicto|Pío|Jaime|Napoleón)$/u.test(before);
      if (!queen && !king) return null;
      return value <= 10 ? speller.ordinal(value, queen ? 'feminine' : '') : cardinal(value);
    },
    initials: new Set(list('UE TVE SL')),
  }; // prettier-ignore
} // prettier-ignore

const SPANISH_NOUN = /^\p{Ll}{2,}$/u;
