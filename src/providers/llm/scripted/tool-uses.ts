import type { Location } from '../../../schema/issues.js';
import { END_TOOL } from './conversation.js';
import { type AgentScript, parseScript, type ScriptAction } from './schema.js';

/** A place in a script that calls a tool. */
export interface ScriptToolUse {
  place: Location;
  tool: string;
}

/** Where a script calls tools and hangs up; none if it is absent or has faults, which are reported elsewhere. */
export function scriptToolUses(script: unknown): readonly ScriptToolUse[] {
  if (script == null) return [];
  try {
    return toolUsesOf(parseScript(script));
  } catch {
    return [];
  }
}

/** The same for a parsed script. */
export function toolUsesOf(parsed: AgentScript): readonly ScriptToolUse[] {
  return [
    ...parsed.rules.flatMap((rule, index) => usesOf(rule, ['rules', index])),
    ...Object.entries(parsed.states).flatMap(([name, { rules, otherwise }]) => [
      ...rules.flatMap((rule, index) => usesOf(rule, ['states', name, 'rules', index])),
      ...usesOf(otherwise, ['states', name, 'otherwise']),
    ]),
    ...Object.entries(parsed.forms).flatMap(([name, { done }]) => usesOf(done, ['forms', name, 'done'])),
  ];
}

function usesOf(action: ScriptAction | undefined, place: Location): ScriptToolUse[] {
  if (action === undefined) return [];
  const { call, end } = action;
  if (call === undefined) return end === true ? [{ place: [...place, 'end'], tool: END_TOOL }] : [];
  const at = [...place, 'call'];
  return [
    { place: [...at, 'tool'], tool: call.tool },
    ...usesOf(call.ok, [...at, 'ok']),
    ...usesOf(call.failed, [...at, 'failed']),
    ...usesOf(call.empty, [...at, 'empty']),
  ];
}
