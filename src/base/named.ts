/** The entry of a provider's model in a table of names: that of both names, of the model, or of the provider. */
export function named<T>(
  table: Readonly<Record<string, T>> = {},
  provider: string,
  model: string | null | undefined,
  none: T,
): T {
  const names = model == null ? [provider] : [`${provider}/${model}`, model, provider];
  const name = names.find((each) => Object.hasOwn(table, each));
  return name === undefined ? none : (table[name] ?? none);
}
