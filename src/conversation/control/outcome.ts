import type { Core } from '../core.js';
import type { OpenCommand } from '../state.js';
import type { CommandRefusal, CommandResult } from './command.js';

/** The outcome of a program's commands: each command with an id has one, once. */

type Id = number | null | undefined;

/** A command is under way. */
export function open(core: Core, id: Id, kind: OpenCommand['kind']): void {
  if (id != null) core.state.commands.push({ id, kind, isBegun: false, parts: [] });
}

export function done(core: Core, id: Id, result: CommandResult = null): void {
  if (id == null) return;
  close(core, id);
  core.emit({ type: 'command.done', id, result });
}

/** @param detail more about the reason */
export function refuse(core: Core, id: Id, why: CommandRefusal, detail?: string): void {
  core.trace('command.refused', { why });
  if (id == null) return;
  close(core, id);
  core.emit(detail === undefined ? { type: 'command.refused', id, why } : { type: 'command.refused', id, why, detail });
}

/** An utterance belongs to a command. */
export function noteSpoken(core: Core, id: number, entry: number, utteranceId: number): void {
  const command = core.state.commands.find((one) => one.id === id);
  if (command === undefined) return;
  command.isBegun = true;
  command.parts.push({ entry, utteranceId });
}

/** Reports what was heard of commands whose speech is over. */
export function settleSpoken(core: Core): void {
  for (const command of Array.from(core.state.commands)) {
    if (isSpoken(core, command)) done(core, command.id, heardOf(core, command));
  }
}

/** The line closes: nothing more is done. */
export function refuseAll(core: Core): void {
  for (const command of Array.from(core.state.commands)) {
    if (command.parts.length > 0 && isHeardOut(core, command)) done(core, command.id, heardOf(core, command));
    else refuse(core, command.id, 'ended');
  }
}

function close(core: Core, id: number): void {
  core.state.commands = core.state.commands.filter((command) => command.id !== id);
}

function isSpoken(core: Core, command: OpenCommand): boolean {
  if (command.kind === 'other' || !command.isBegun || !isHeardOut(core, command)) return false;
  return command.kind === 'say' || core.state.reply?.asked?.id !== command.id;
}

function isHeardOut(core: Core, { parts }: OpenCommand): boolean {
  return parts.every(({ entry, utteranceId }) => partOf(core, entry, utteranceId)?.heardChars !== null);
}

function heardOf(core: Core, { parts }: OpenCommand): CommandResult {
  const said = parts.flatMap(({ entry, utteranceId }) => partOf(core, entry, utteranceId) ?? []);
  const joined = (texts: readonly string[]): string => texts.filter((text) => text !== '').join(' ');
  return {
    text: joined(said.map(({ text }) => text.trim())),
    heard: joined(said.map(({ text, heardChars }) => text.slice(0, heardChars ?? 0).trim())),
  };
}

function partOf(core: Core, entry: number, utteranceId: number) {
  const message = core.state.history[entry];
  return message?.role === 'assistant' ? message.parts.find((part) => part.utteranceId === utteranceId) : undefined;
}
