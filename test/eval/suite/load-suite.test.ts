import { describe, expect, it } from 'vitest';
import { parseSuiteText, withDefaults } from '../../../src/eval/suite/load-suite.js';
import { InvalidConfigError } from '../../../src/schema/issues.js';

function faultsOf(text: string): string[] {
  try {
    parseSuiteText(text, 'suite.yaml');
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.issues.map(({ loc, msg }) => `${String(loc[0])} ${msg}`);
    throw error;
  }
  return [];
}

const GOOD = `
name: table
defaults:
  tools: {book: {result: ok}}
  line: {loss: 0.1}
cases:
  - name: one
    caller: {script: [{say: hello}]}
    expect: [{said: hello}]
`;

describe('suite files', () => {
  it('are YAML or JSON', () => {
    expect(faultsOf(GOOD)).toEqual([]);
    expect(faultsOf(JSON.stringify(parseSuiteText(GOOD, 'x')))).toEqual([]);
  });

  it.each([
    ['a case without a caller', GOOD.replace(/ {4}caller.*\n/, ''), ['suite.yaml:7:5 Field required']],
    [
      'a misspelt expectation',
      GOOD.replace('{said: hello}', '{sayd: hello}'),
      [
        expect.stringMatching(
          /^suite.yaml:9:15 Unknown field: sayd; expected one of: tool_called, .*judge, check\. Did you mean said\?$/,
        ),
      ],
    ],
    [
      'a misspelt field',
      GOOD.replace('tools:', 'tolls:'),
      ['suite.yaml:4:3 Unknown field: tolls. Did you mean tools?'],
    ],
    ['a wrong value', GOOD.replace('0.1', '2'), ['suite.yaml:5:10 Input should be less than or equal to 0.5']],
    [
      'a broken expression',
      GOOD.replace('{said: hello}', '{said: "/(/"}'),
      [expect.stringMatching(/^suite.yaml:9:15 Not a regular expression/)],
    ],
    [
      'a network that a transport does not have',
      GOOD.replace('0.1', '0.1, delay_ms: 0, transport: webrtc') +
        GOOD.slice(GOOD.indexOf('  - name')).replace('one', 'two'),
      ['suite.yaml:5:10 The transport webrtc has no loss'],
    ],
    [
      'a codec that a transport does not have',
      `${GOOD}    line: {transport: rtp, codec: pcm, buffer_ms: 40}\n`,
      [
        'suite.yaml:10:28 The transport rtp carries mulaw, alaw, g722, opus and not pcm',
        'suite.yaml:10:40 The transport rtp has no buffer_ms',
      ],
    ],
    [
      'two cases of one name',
      `${GOOD}  - name: one\n    caller: {script: [{say: a}]}\n    expect: [{said: b}]\n`,
      ['suite.yaml:10:5 Another case is called "one"'],
    ],
    [
      'a judge without a model',
      GOOD.replace('{said: hello}', '{judge: {rubric: x}}'),
      [expect.stringMatching(/^suite.yaml:9:\d+ No judge/)],
    ],
    ['a key twice', GOOD.replace('name: table', 'name: a\nname: b'), ['suite.yaml:3:1 Map keys must be unique']],
    ['no YAML', 'name: [', [expect.stringMatching(/^suite.yaml:1:\d/)]],
  ])('name the line of %s', (_what, text, faults) => expect(faultsOf(text)).toEqual(faults));

  it('fill in defaults member by member', () => {
    const suite = parseSuiteText(
      GOOD.replace('    expect', '    tools: {pay: {error: no}}\n    line: {codec: alaw}\n    expect'),
      'x',
    );
    const [one] = suite.cases;
    if (one === undefined) throw new Error('no case');
    const { tools, line } = withDefaults(suite, one);
    expect([tools, line]).toEqual([
      { book: { result: 'ok' }, pay: { error: 'no' } },
      { loss: 0.1, codec: 'alaw' },
    ]);
  });
});
