/** One fault in what was sent, where it is. */
export interface Fault {
  loc: readonly (string | number)[];
  msg: string;
}
