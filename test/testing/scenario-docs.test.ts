import { readFile } from 'node:fs/promises';
import { transform } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';
import { Stage } from '../../src/stage/stage.js';

describe('docs/scenario-tests.md', () => {
  it('holds an example that plays as it says', async () => {
    const page = await readFile(packageFile('docs/scenario-tests.md'), 'utf8');
    const [, example = ''] =
      /```ts\nimport \{ Stage \} from '@parley-voice\/parley\/testing';\n([^]*?)```/.exec(page) ?? [];
    const { code } = await transform(example, { loader: 'ts' });
    // eslint-disable-next-line typescript/no-implied-eval -- the example is the page's own
    const play = new Function('Stage', `${code}return stage;`) as (from: typeof Stage) => Stage;
    const stage = play(Stage);
    expect(stage.timeline.end?.status).toBe('user-ended');
    expect(stage.timeline.turns.map(({ text }) => text)).toEqual(['When are you open?']);
  });
});
