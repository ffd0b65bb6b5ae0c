/** The language of a tag without its region, in lower case: `en` of `en-US`, `zh` of `zh_CN`. */
export function baseLanguage(tag: string): string {
  return (tag.split(/[-_]/, 1)[0] ?? '').toLowerCase();
}
