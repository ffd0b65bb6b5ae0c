/** Types of the style sheet, for TypeScript 6 and later, which want some for each import. */
// oxlint-disable-next-line unicorn/require-module-specifiers
export {};
