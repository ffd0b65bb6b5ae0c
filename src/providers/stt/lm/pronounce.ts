/**
 * Pronunciations for English words that are not in the dictionary (mostly names): spelling rules, longest match first,
 * to CMU phones. A rough guess.
 */
type Rule = readonly [spelling: string, phones: string];

/** Whole endings, tried before anything else. */
const ENDINGS: readonly Rule[] = [
  ['tion', 'SH AH N'],
  ['sion', 'ZH AH N'],
  ['cious', 'SH AH S'],
  ['tious', 'SH AH S'],
  ['ture', 'CH ER'],
  ['ville', 'V IH L'],
  ['ough', 'OW'],
  ['ism', 'IH Z AH M'],
  ['ics', 'IH K S'],
  ['ies', 'IY Z'],
  ['ing', 'IH NG'],
  ['able', 'AH B AH L'],
  ['le', 'AH L'],
  ['ed', 'D'],
  ['er', 'ER'],
  ['ey', 'IY'],
  ['y', 'IY'],
  ["'s", 'Z'],
];

const SPELLINGS: readonly Rule[] = [
  ['tsch', 'CH'],
  ['eigh', 'EY'],
  ['augh', 'AO'],
  ['ough', 'AO'],
  ['sch', 'SH'],
  ['tch', 'CH'],
  ['igh', 'AY'],
  ['eau', 'OW'],
  ['dge', 'JH'],
  ['air', 'EH R'],
  ['ear', 'IH R'],
  ['eer', 'IH R'],
  ['our', 'AO R'],
  ['oor', 'AO R'],
  ['ier', 'IH R'],
  ['ch', 'CH'],
  ['sh', 'SH'],
  ['th', 'TH'],
  ['ph', 'F'],
  ['gh', 'G'],
  ['wh', 'W'],
  ['wr', 'R'],
  ['kn', 'N'],
  ['gn', 'N'],
  ['ck', 'K'],
  ['qu', 'K W'],
  ['ng', 'NG'],
  ['zz', 'T S'],
  ['sc', 'S K'],
  ['ai', 'EY'],
  ['ay', 'EY'],
  ['au', 'AO'],
  ['aw', 'AO'],
  ['ea', 'IY'],
  ['ee', 'IY'],
  ['ei', 'AY'],
  ['eu', 'Y UW'],
  ['ew', 'UW'],
  ['ie', 'IY'],
  ['oa', 'OW'],
  ['oi', 'OY'],
  ['oy', 'OY'],
  ['oo', 'UW'],
  ['ou', 'AW'],
  ['ow', 'OW'],
  ['ue', 'UW'],
  ['ui', 'UW IY'],
  ['ar', 'AA R'],
  ['er', 'ER'],
  ['ir', 'ER'],
  ['or', 'AO R'],
  ['ur', 'ER'],
  ['ce', 'S EH'],
  ['ci', 'S IH'],
  ['cy', 'S IY'],
  ['ge', 'JH EH'],
  ['gi', 'JH IH'],
  ['gy', 'JH IY'],
  ['a', 'AE'],
  ['b', 'B'],
  ['c', 'K'],
  ['d', 'D'],
  ['e', 'EH'],
  ['f', 'F'],
  ['g', 'G'],
  ['h', 'HH'],
  ['i', 'IH'],
  ['j', 'JH'],
  ['k', 'K'],
  ['l', 'L'],
  ['m', 'M'],
  ['n', 'N'],
  ['o', 'OW'],
  ['p', 'P'],
  ['r', 'R'],
  ['s', 'S'],
  ['t', 'T'],
  ['u', 'AH'],
  ['v', 'V'],
  ['w', 'W'],
  ['x', 'K S'],
  ['y', 'IH'],
  ['z', 'Z'],
];

const LONG_VOWEL: Readonly<Record<string, string>> = { a: 'EY', e: 'IY', i: 'AY', o: 'OW', u: 'UW' };

/** Phones separated by spaces, or null if no rule covers a letter. */
export function guessPronunciation(word: string): string | null {
  if (!/^[a-z][a-z']{0,29}$/.test(word)) return null;
  const ending = ENDINGS.find(([spelling]) => word.endsWith(spelling) && word.length >= spelling.length + 2);
  const phones: string[] = [];
  let rest = ending === undefined ? word : word.slice(0, -ending[0].length);
  while (rest !== '') {
    if (rest.startsWith("'")) {
      rest = rest.slice(1);
      continue;
    }
    // A vowel before a consonant and a silent final e is long: "cake", "bone".
    const long = ending === undefined ? /^([aeiou])([bcdfgklmnpstvz])e$/.exec(rest) : null;
    if (long !== null) {
      phones.push(LONG_VOWEL[long[1] as string] as string);
      rest = long[2] as string;
      continue;
    }
    if (rest === 'a' && phones.length > 0) {
      phones.push('AH');
      break;
    }
    if (rest === 'i' && phones.length > 0) {
      phones.push('IY');
      break;
    }
    const [spelling, sounds] = SPELLINGS.find(([start]) => rest.startsWith(start)) as Rule;
    if (phones.at(-1) !== sounds || /[AEIOU]/.test(sounds)) phones.push(sounds);
    rest = rest.slice(spelling.length);
  }
  if (ending !== undefined) phones.push(ending[1]);
  return phones.join(' ');
}
