import { describe, expect, it } from 'vitest';
import { signatureOf } from '../../../src/providers/turn/signature.js';

const NONE = new Map<string, string>();
const audio = { name: 'audio', shape: ['batch', 1600] };

describe('signatureOf', () => {
  it('takes a single input for a window', () => {
    const inputs = [{ name: 'input_features', shape: ['batch', 80, 800] }];
    expect(signatureOf(inputs, ['logits'], NONE)).toEqual({
      kind: 'window',
      input: 'input_features',
      output: 'logits',
    });
  });

  it('finds states by their names, and the size that counts calls', () => {
    const states = [
      { name: 'state_k', shape: [6, 'batch', 60] },
      { name: 'h', shape: ['batch', 8] },
    ];
    expect(signatureOf([audio, ...states], ['probs', 'h_out', 'new_state_k'], NONE)).toEqual({
      kind: 'stream',
      audio: 'audio',
      stepSamples: 1600,
      probability: 'probs',
      batches: true,
      leadMs: 500,
      states: [
        { input: 'state_k', output: 'new_state_k', dims: [6, 1, 60], batchAxis: 1 },
        { input: 'h', output: 'h_out', dims: [1, 8], batchAxis: 0 },
      ],
    });
    const fixed = signatureOf(
      [
        { name: 'audio', shape: [1, 2560] },
        { name: 'h', shape: [1, 8] },
      ],
      ['h_out', 'p'],
      NONE,
    );
    expect(fixed).toMatchObject({ batches: false, stepSamples: 2560, probability: 'p' });
    // A state that all calls would share.
    const shared = signatureOf([audio, { name: 'h', shape: [1, 8] }], ['h_out', 'p'], NONE);
    expect(shared).toMatchObject({ batches: false });
  });

  it('is known by metadata where names do not say', () => {
    const metadata = new Map([
      ['parley.audio', 'x'],
      ['parley.probability', 'b'],
      ['parley.state', 'in > out, more>rest'],
      ['parley.step_samples', '800'],
      ['parley.lead_ms', '300'],
    ]);
    const inputs = ['x', 'in', 'more'].map((name) => ({ name, shape: [1, name === 'x' ? 'samples' : 4] }));
    expect(signatureOf(inputs, ['a', 'b', 'out', 'rest'], metadata)).toMatchObject({
      audio: 'x',
      probability: 'b',
      stepSamples: 800,
      leadMs: 300,
      states: [{ output: 'out' }, { output: 'rest' }],
    });
  });

  it('says what does not fit', () => {
    const of = (inputs: [string, (number | string)[]][], outputs: string[]) => () =>
      signatureOf(
        inputs.map(([name, shape]) => ({ name, shape })),
        outputs,
        NONE,
      );
    expect(of([], [])).toThrow('it has no input');
    expect(
      of(
        [
          ['ids', [1]],
          ['mask', [1]],
        ],
        ['p'],
      ),
    ).toThrow('its inputs are ids, mask; none of them is the audio');
    expect(
      of(
        [
          ['audio', [1, 9]],
          ['h', [1]],
        ],
        ['p'],
      ),
    ).toThrow('its input h is neither the audio nor a state');
    expect(
      of(
        [
          ['audio', [1, 9]],
          ['h', [1]],
        ],
        ['h_out', 'a', 'c'],
      ),
    ).toThrow('none of them is the probability');
    expect(
      of(
        [
          ['audio', [1, 9]],
          ['h', [1, 'past']],
        ],
        ['h_out', 'p'],
      ),
    ).toThrow('its state h has no fixed size (1 × past)');
  });
});
