import type { ConfigChanges } from '../../agent/flow/conversation-config.js';
import { Stage, type StageWatcher } from '../../stage/stage.js';
import type { StageVoiceOptions } from '../../stage/voice.js';

/** A scenario as plain data: the options of a `Stage`, and the calls of its methods. */
export interface Script {
  config: ConfigChanges;
  voice: StageVoiceOptions;
  acts: Act[];
}

/** Parts of a stage whose methods can be acts. */
interface Parts {
  user: Stage['user'];
  model: Stage['model'];
  tools: Stage['tools'];
  agents: Stage['agents'];
  voice: Stage['voice'];
  line: Stage['line'];
  stage: Stage;
}

type MethodOf<Part> = {
  [Name in keyof Part]: Part[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof Part];

type ArgumentsOf<Method> = Method extends (...args: infer Args) => unknown ? Args : never;

/** One call: `{ on: 'user', does: 'says', with: ['Hello.', { from: 0, to: 500 }] }`. */
export type Act = {
  [On in keyof Parts]: {
    [Does in MethodOf<Parts[On]>]: { on: On; does: Does; with: ArgumentsOf<Parts[On][Does]> };
  }[MethodOf<Parts[On]>];
}[keyof Parts];

/** Creates a stage and sets the script up, without playing it. */
export function stageFor(script: Script, watcher?: StageWatcher): Stage {
  const { config, voice, acts } = script;
  const stage = new Stage({ config, voice, watcher });
  for (const act of acts) {
    const part: object = act.on === 'stage' ? stage : stage[act.on];
    const method = Reflect.get(part, act.does) as (...args: readonly unknown[]) => unknown;
    method.apply(part, act.with);
  }
  return stage;
}

/** The script as the source code of a scenario test. */
export function toSource({ config, voice, acts }: Script): string {
  const lines = [`const stage = new Stage(${literal({ config, voice })});`];
  for (const { on, does, with: args } of acts) {
    const receiver = on === 'stage' ? 'stage' : `stage.${on}`;
    lines.push(`${receiver}.${does}(${args.map(literal).join(', ')});`);
  }
  return `${lines.join('\n')}\nstage.playToEnd();\n`;
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${/^[a-z_$][\w$]*$/i.test(name) ? name : JSON.stringify(name)}: ${literal(member)}`,
  );
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
