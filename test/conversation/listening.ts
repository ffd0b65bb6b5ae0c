import { Stage, type StageConfig } from '../../src/stage/stage.js';

/** A stage on which the agent waits for the user, so that a scenario can begin with what they say. */
export function listening(config: StageConfig = {}): Stage {
  return new Stage({ config: { opening: { userStarts: true, userStartTimeoutMs: 3_600_000 }, ...config } });
}

/** Names of the trace entries, in order. */
export function traces(stage: Stage): string[] {
  return stage.timeline.effects.flatMap(({ effect }) => (effect.type === 'trace' ? [effect.name] : []));
}

/** Times at which an effect of a type was asked for. */
export function timesOf(stage: Stage, type: string): number[] {
  return stage.timeline.effects.filter(({ effect }) => effect.type === type).map(({ atMs }) => atMs);
}
