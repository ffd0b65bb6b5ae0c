import { expect, it } from 'vitest';
import { inClearWords, reasonIn, thrownIn } from '../../../../src/providers/local/engine/engine-process.js';

it.each([
  [
    "/somewhere/csrc/model.cc:Init:12 'n_speakers' does not exist in the metadata\n",
    "'n_speakers' does not exist in the metadata",
  ],
  ["/a/config.cc:Validate:7 lexicon 'x' does not exist\nErrors in config!\n", "lexicon 'x' does not exist"],
  [
    "terminate called after throwing an instance of 'Ort::Exception'\n  what():  Got invalid dimensions for input: x\n index: 2 Got: 8\n Please fix either.\n",
    'Got invalid dimensions for input: x',
  ],
  ['  what():  _Map_base::at\n', 'its tokens.txt does not belong to it: a token is not there'],
  ['', ''],
])('finds in what was said (%j) what is wrong', (said, reason) => {
  expect(reasonIn(said)).toBe(reason);
});

it('tells a computation that threw from one that heard nothing', () => {
  expect(thrownIn('/a/impl.h:Decode:3 \n\nCaught exception:\n\nNo such input\n\nReturn an empty result')).toBe(
    'No such input',
  );
  expect(thrownIn('Duplicated word: a')).toBeNull();
  expect(inClearWords('x'.repeat(400))).toHaveLength(300);
});
