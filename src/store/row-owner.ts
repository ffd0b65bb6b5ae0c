/** The node that has what a row is about. Its id may change: read it when a row is written. */
export interface RowOwner {
  readonly id: string;
}
