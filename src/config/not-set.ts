/** The value, or `otherwise` where it means "not set": null, left out, an empty text or 0. */
export function setOr<T extends string | number>(value: T | '' | null | undefined, otherwise: T): T {
  return value == null || value === '' || value === 0 ? otherwise : value;
}
