import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../../src/package-files.js';
import type * as Simulator from '../../../src/testing/simulator/index.js';

/** What somebody might get wrong, and the rule that notices. */
interface PlantedBug {
  /** File of the machine, below `src/conversation`. */
  machine: string;
  /** Text that stands in the file once, and what stands there instead. */
  text: string;
  instead: string;
  /** Rules any of which may notice it first. */
  rules: readonly string[];
}

const BUGS: readonly PlantedBug[] = [
  {
    machine: 'reply/reply', // nobody notices a model that never begins
    text: "if (reply.phase === 'thinking') core.arm('llm.first', core.nowMs + llmFirstMs);",
    instead: "if (reply.phase === 'thinking') void llmFirstMs;",
    rules: ['a request has a deadline'],
  },
  {
    machine: 'floor/interruption', // a false alarm leaves the agent held
    text: 'speech.resume(core);',
    instead: '',
    rules: ['a hold has a deadline', 'a hold has an end'],
  },
  {
    machine: 'speech/agent-speech', // what was queued counts as heard
    text: 'return index === underWay ? Math.max(0, core.position.heardChars) : 0;',
    instead: 'return index === underWay ? Math.max(0, core.position.heardChars) : utterance.text.length;',
    rules: ['the history holds what was heard'],
  },
  {
    machine: 'reply/filler', // fillers over somebody who speaks
    text: 'turn.speaking ||',
    instead: '',
    rules: ['no filler while the user speaks'],
  },
  {
    machine: 'turn/endpointing', // the least wait is forgotten
    text: 'Math.max(paced, responseDelayMs)',
    instead: '(void responseDelayMs, paced)',
    rules: ['an answer waits for the response delay'],
  },
  {
    machine: 'reply/ending', // the deadline of the last words is forgotten
    text: "core.arm('closing',",
    instead: "core.disarm('closing'); void (",
    rules: ['the end has a deadline'],
  },
  {
    machine: 'reply/tool-calls', // the first result takes the deadline of all
    text: "if (core.state.tools.length === 0) core.disarm('tools');",
    instead: "core.disarm('tools');",
    rules: ['a tool has a deadline'],
  },
  {
    machine: 'reply/voice-failure', // nothing makes up for speech that failed
    text: 'failures.unheard = true;',
    instead: '',
    rules: ['no dead air after the turn of the user'],
  },
  {
    machine: 'floor/inactivity', // the agent's own words are no sign of life
    text: 'core.state.inactivity.sinceMs = core.nowMs;\n  if (kind',
    instead: 'if (kind',
    rules: ['the agent asks only after silence'],
  },
  {
    machine: 'speech/history', // an interrupted message stays as it was meant
    text: 'part.heardChars = Math.max(0, Math.min(heardChars, part.text.length));',
    instead: 'part.heardChars = part.text.length;',
    rules: ['the history holds what was heard'],
  },
];
/** So many conversations show every one of them. */
const MOST = 10_000;

describe('the simulation finds what is wrong', () => {
  it.each(BUGS)(
    '$machine: $rules',
    async (bug) => {
      const { generate, seedOf, shrink, simulate } = await simulatorWith(bug);
      let found: Simulator.Script | null = null;
      for (let index = 0; index < MOST && found === null; index++) {
        const script = generate(seedOf(1, index));
        // The same bug may break other rules in other places.
        if (bug.rules.includes(simulate(script).failure?.rule ?? '')) found = script;
      }
      expect(found).not.toBeNull();
      const script = found as Simulator.Script;
      const smallest = shrink(script);
      const { failure } = simulate(smallest);
      expect(bug.rules).toContain(failure?.rule);
      expect(smallest.acts.length).toBeLessThanOrEqual(8);
      expect(JSON.stringify(smallest).length).toBeLessThanOrEqual(JSON.stringify(script).length);
    },
    300_000,
  );
});

/** The simulator, made from a copy of the source with the bug in it. */
async function simulatorWith({ machine, text, instead }: PlantedBug): Promise<typeof Simulator> {
  const path = fileURLToPath(packageFile(`src/conversation/${machine}.ts`));
  const source = await readFile(path, 'utf8');
  if (source.split(text).length !== 2) throw new Error(`${machine}.ts does not hold this once: ${text}`);
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(packageFile('src/testing/simulator/index.ts'))],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    plugins: [
      {
        name: 'planted bug',
        setup(bundler) {
          bundler.onLoad({ filter: /\.ts$/ }, (args) =>
            args.path === path ? { contents: source.replace(text, instead), loader: 'ts' } : undefined,
          );
        },
      },
    ],
  });
  const bundled = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64');
  return (await import(`data:text/javascript;base64,${bundled}`)) as typeof Simulator;
}
