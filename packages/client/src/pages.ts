/** How a list gives its pages. @internal */
export interface PageShape {
  /** The query parameter that takes the cursor. */
  cursor: string;
  /** The member of a page with its items; null = the page is the list. */
  items: string | null;
  /** The member with the cursor of the next page: of the page, or of its last item. */
  next: string;
}

/** A list in pages. `for await` gives one item after the other and asks for pages as it needs them. */
export class Pages<Item, Page> implements AsyncIterable<Item> {
  readonly #ask: (cursor: string | number | null) => Promise<Page>;
  readonly #shape: PageShape;

  /** @internal */
  constructor(ask: (cursor: string | number | null) => Promise<Page>, shape: PageShape) {
    this.#ask = ask;
    this.#shape = shape;
  }

  /** The first page alone, or the one behind the cursor of the query. */
  page(): Promise<Page> {
    return this.#ask(null);
  }

  /** One page after the other. */
  async *pages(): AsyncGenerator<Page, void> {
    for (let cursor: string | number | null = null; ;) {
      const page: Page = await this.#ask(cursor);
      yield page;
      const next = this.#nextOf(page);
      // Lists end with the cursor 0, or with an empty page. The same cursor twice would never end.
      if (!next || next === cursor) return;
      cursor = next;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for await (const page of this.pages()) yield* this.#itemsOf(page);
  }

  #itemsOf(page: Page): Item[] {
    const { items } = this.#shape;
    return (items === null ? page : (page as Record<string, unknown>)[items]) as Item[];
  }

  #nextOf(page: Page): string | number | null {
    const { items, next } = this.#shape;
    const holder = (items === null ? this.#itemsOf(page).at(-1) : page) as Record<string, unknown> | undefined;
    return (holder?.[next] ?? null) as string | number | null;
  }
}
