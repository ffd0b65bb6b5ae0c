import { UsageError } from './command.js';
import { similar } from './similar.js';

/** What to throw for the first word after a command that is none of its actions. @param usage what is said then */
export function noSuchAction(word: string | undefined, actions: readonly string[], usage: string): UsageError {
  if (word === undefined || word === '' || actions.includes(word)) return new UsageError(usage);
  const meant = similar(word, actions);
  return new UsageError(`there is no "${word}". ${meant === null ? usage : `Did you mean: ${meant}?`}`);
}
