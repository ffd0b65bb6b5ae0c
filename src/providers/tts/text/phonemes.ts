import { baseLanguage } from '../../../base/language.js';

/**
 * Phonemes of the International Phonetic Alphabet (IPA) in the notations of voices, and in letters for voices that
 * take none. Pure.
 */

/** One sound or stress mark of a pronunciation. */
export type Phoneme = string;

const STRESS = 'ˈˌ';

/**
 * A line each: IPA; flite's US English phones (`+` joins two); espeak-ng's mnemonic; letters that are read so in
 * English, German, French and Spanish. `-` is nothing. Longer symbols win.
 *
 * flite: the phone set of cmulex (lang/cmulex/cmu_lex_entries.c). espeak-ng: docs/phonemes.md of espeak-ng 1.52.
 */
const TABLE = `
p p p p p p p
b b b b b b b
t t t t t t t
d d d d d d d
k k k k k k k
ɡ g g g g g g
tʃ ch tS ch tsch tch ch
dʒ jh dZ j dsch dj y
ts t+s ts ts z ts ts
dz d+z dz dz ds dz ds
pf p+f pf pf pf pf pf
f f f f f f f
v v v v w v v
θ th T th s s z
ð dh D th s z d
s s s s ß ss s
z z z z s z s
ʃ sh S sh sch ch sh
ʒ zh Z zh sch j y
ç hh C h ch ch j
x k x kh ch r j
χ k x kh ch r j
ɣ g Q g g g g
β v B v w v b
h hh h h h h j
ɦ hh h h h h j
m m m m m m m
n n n n n n n
ŋ ng N ng ng ng n
ɲ n+y n^ ny nj gn ñ
ʎ l+y l^ ly lj li ll
l l l l l l l
ɫ l l l l l l
ɬ l l l l l l
ɹ r r r r r r
r r r r r r rr
ɾ r * r r r r
ʁ r r r r r r
ʀ r r r r r r
j y j y j y y
w w w w w ou u
ɥ w w w ü u u
ʍ w w w w ou u
c k+y c k k k k
ɟ g+y J g g g g
q k k k k k k
ʔ - - - - - -
iː iy i: ee ie i i
i iy i ee i i i
ɪ ih I i i i i
ɨ ih I i i i i
y uw y u ü u u
yː uw y: u üh u u
ʏ uh y u ü u u
eː ey e: ay eh é e
e ey e ay e é e
ɛ eh E e e è e
ɛː eh E: e äh ê e
eɪ ey eI ay ej eï ei
æ ae a a ä a a
a aa a ah a a a
aː aa a: ah ah a a
ɐ ah V uh er a a
ɑ aa A ah a a a
ɑː aa A: ah ah a a
ɒ aa 0 o o o o
ɔ ao O aw o o o
ɔː ao O: aw oh o o
o ow o oh o o o
oː ow o: oh oh o o
oʊ ow oU oh ou ô ou
əʊ ow oU oh ou ô ou
ʊ uh U oo u ou u
u uw u oo u ou u
uː uw u: oo uh ou u
ʌ ah V uh a a a
ə ax @ uh e e e
ɜː er 3: ur ör eu er
ɜ er 3: ur ör eu er
ɝ er 3: ur ör eu er
ɚ er 3 er er eur er
ø er Y ur ö eu e
øː er Y: ur öh eu e
œ er W ur ö eu e
aɪ ay aI eye ei aï ai
aʊ aw aU ow au aou au
ɔɪ oy OI oy eu oï oi
ɔʏ oy OY oy eu oï oi
ɪə iy+ax i@ eer ier ia ia
ɛə eh+ax e@ air är èr ea
eə eh+ax e@ air är èr ea
ʊə uh+ax U@ oor uer our ua
ɑ̃ aa+n A~ on ang an an
ɛ̃ ae+n E~ an äng in en
ɔ̃ ao+n O~ on ong on on
œ̃ ah+n W~ un öng un un`;

interface Notations {
  flite: readonly string[];
  espeak: string;
  /** By language: English, German, French, Spanish. */
  letters: readonly string[];
}

const NOTATIONS: ReadonlyMap<Phoneme, Notations> = new Map(
  TABLE.trim()
    .split('\n')
    .map((line) => {
      const [ipa = '', flite = '', espeak = '', ...letters] = line
        .split(' ')
        .map((entry) => (entry === '-' ? '' : entry));
      return [
        ipa.normalize('NFD'),
        { flite: flite.split('+').filter((phone) => phone !== ''), espeak, letters },
      ] as const;
    }),
);
const LONGEST = 3;
const LANGUAGES = ['en', 'de', 'fr', 'es'];

/** The sounds and stress marks of a pronunciation; brackets, ties and syllable dots are dropped. */
export function phonesOf(ipa: string): Phoneme[] {
  const text = ipa
    .normalize('NFD')
    .replace(/[\u0361\u035c.‿|()/[\]\s-]/gu, '')
    .replace(/g/gu, 'ɡ')
    .replace(/['’]/gu, 'ˈ')
    .replace(/:/gu, 'ː');
  const phones: Phoneme[] = [];
  for (let at = 0; at < text.length;) {
    let length = LONGEST;
    while (length > 1 && !NOTATIONS.has(text.slice(at, at + length))) length--;
    const phone = text.slice(at, at + length);
    // A mark of detail on a sound that is known without it.
    if (NOTATIONS.has(phone) || STRESS.includes(phone)) phones.push(phone);
    at += length;
  }
  return phones;
}

const isVowel = (phone: Phoneme): boolean => /^[iɪɨyʏeɛæaɐɑɒɔoʊuʌəɜɝɚøœ]/u.test(phone);

/** Phones of flite's US English voices: `ax`, `ow1`; the vowel behind a primary stress ends in 1. */
export function flitePhones(ipa: string): string[] {
  const phones = phonesOf(ipa);
  const isMarked = phones.includes('ˈ');
  let stressed = !isMarked;
  const said: string[] = [];
  for (const [at, phone] of phones.entries()) {
    if (STRESS.includes(phone)) {
      stressed ||= phone === 'ˈ';
      continue;
    }
    // "ɜːɹ" is one sound.
    if (phone === 'ɹ' && said.at(-1)?.startsWith('er') === true && !isVowel(phones[at + 1] ?? '')) continue;
    for (const name of NOTATIONS.get(phone)?.flite ?? []) {
      const takesStress = isVowel(phone) && /^[aeiou]/.test(name);
      said.push(takesStress ? `${name}${stressed ? '1' : '0'}` : name);
      if (takesStress) stressed = false;
    }
  }
  return said;
}

/** What espeak-ng takes between `[[` and `]]`: the stress stands before the vowel. */
export function espeakPhonemes(ipa: string, language: string): string {
  const base = baseLanguage(language);
  const own = ESPEAK_OWN[base] ?? {};
  let said = '';
  let stress = '';
  for (const phone of phonesOf(ipa)) {
    if (STRESS.includes(phone)) {
      stress = phone === 'ˈ' ? "'" : ',';
      continue;
    }
    const name = own[phone.normalize('NFC')] ?? NOTATIONS.get(phone)?.espeak ?? '';
    if (isVowel(phone)) {
      said += stress;
      stress = '';
    }
    // Mnemonics are parted where two could be read as another one.
    said += said !== '' && !/[',]$/.test(said) && name !== '' ? `|${name}` : name;
  }
  return said;
}

/** Where a language's own sounds have other names than those of the table. */
const ESPEAK_OWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  en: { r: 'r', ɑ: 'A:', a: 'a', e: 'E', o: 'oU', ɔ: 'O:', y: 'u:', ø: '3:', œ: '3:', x: 'x', ɐ: 'V' },
  de: { ɐ: '3', oʊ: 'o:', eɪ: 'e:', æ: 'E', ʌ: 'a', ɑː: 'a:', ɑ: 'a', ɜː: 'W', ɔɪ: 'OY', w: 'v', ɹ: 'r', θ: 's', ð: 'z', e: 'e:', o: 'o:' },
  fr: { ɑ: 'a', ɪ: 'i', iː: 'i', uː: 'u', ʊ: 'u', oʊ: 'o', eɪ: 'e', æ: 'a', ʌ: 'a', ɑː: 'a', ɔː: 'O', h: '', ɹ: 'r', θ: 's', ð: 'z' },
  es: { r: 'R', ʁ: 'R', ɹ: 'r', ɪ: 'i', iː: 'i', uː: 'u', ʊ: 'u', ə: 'e', æ: 'a', ʌ: 'a', ɛ: 'e', ɔ: 'o', oʊ: 'oU', z: 's', ʃ: 'S', h: 'x', v: 'b' },
}; // prettier-ignore

/** Cartesia's notation: `<<k|ɑ|ɹ|ˈ|t|i|ʒ|ə>>`. */
export function cartesiaPhonemes(ipa: string, language: string): string {
  const isEnglish = baseLanguage(language) === 'en';
  const phones = phonesOf(ipa).map((phone) => phone.normalize('NFC'));
  const own = isEnglish ? phones.map((phone) => (phone === 'r' ? 'ɹ' : phone.replace('ː', ''))) : phones;
  return `<<${own.join('|')}>>`;
}

/** Letters that a voice of the language reads about so, for voices that take no phonemes: "kwɛɹi" as "kweree". */
export function respellingOf(ipa: string, language: string): string {
  const column = Math.max(0, LANGUAGES.indexOf(baseLanguage(language)));
  let said = '';
  for (const phone of phonesOf(ipa)) {
    if (STRESS.includes(phone)) said += said === '' || said.endsWith('-') ? '' : '-';
    else said += NOTATIONS.get(phone)?.letters[column] ?? '';
  }
  return said.replace(/-$/u, '');
}
