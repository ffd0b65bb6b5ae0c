import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from './command.js';
import { similar } from './similar.js';

/** `parseArgs`, which names the flag that is meant where one is misspelt. @throws UsageError, TypeError of parseArgs */
export function parseFlags<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const flag = unknownFlag(config);
    if (flag === undefined) throw error;
    const known = ['help', ...Object.keys(config.options ?? {})];
    const meant = similar(flag.name, known);
    throw new UsageError(`there is no flag ${flag.rawName}.${meant === null ? '' : ` Did you mean: --${meant}?`}`);
  }
}

function unknownFlag({ args, options = {} }: ParseArgsConfig): { name: string; rawName: string } | undefined {
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  return tokens.filter((token) => token.kind === 'option').find(({ name }) => !Object.hasOwn(options, name));
}
