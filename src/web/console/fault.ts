/** A validation issue and its place. */
export interface Fault {
  loc: readonly (string | number)[];
  msg: string;
}
