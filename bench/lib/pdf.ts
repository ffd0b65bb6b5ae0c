/** A line of text, larger than the rest where it is a heading; `gap` leaves an empty line above. */
export interface PdfLine {
  text: string;
  heading?: true;
  gap?: true;
}

/**
 * A PDF of pages of lines, in Helvetica (Western letters only).
 * @param encrypt as if a password that nobody knows protected it
 */
export function makePdf(
  pages: readonly (readonly (string | PdfLine)[])[],
  { encrypt = false }: { encrypt?: boolean } = {},
): Uint8Array<ArrayBuffer> {
  const objects = ['', ''];
  const add = (object: string): number => objects.push(object);
  const font = add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>');
  const kids = pages.map((lines) => {
    const content = `BT /F1 11 Tf 14 TL 50 800 Td\n${lines.map(operators).join('\n')}\nET`;
    const stream = add(`<< /Length ${String(content.length)} >>\nstream\n${content}\nendstream`);
    return add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${String(stream)} 0 R ` +
        `/Resources << /Font << /F1 ${String(font)} 0 R >> >> >>`,
    );
  });
  objects[0] = '<< /Type /Catalog /Pages 2 0 R >>';
  objects[1] = `<< /Type /Pages /Kids [${kids.map((id) => `${String(id)} 0 R`).join(' ')}] /Count ${String(kids.length)} >>`;
  const hash = '5a'.repeat(32);
  const lock = encrypt
    ? `/Encrypt << /Filter /Standard /V 1 /R 2 /O <${hash}> /U <${hash}> /P -4 >> /ID [<${hash}> <${hash}>] `
    : '';
  let text = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const at = text.length;
    text += `${String(index + 1)} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  const size = String(objects.length + 1);
  const end = `trailer\n<< /Size ${size} /Root 1 0 R ${lock}>>\nstartxref\n${String(text.length)}\n%%EOF\n`;
  return new Uint8Array(Buffer.from(`${text}xref\n0 ${size}\n0000000000 65535 f \n${table}${end}`, 'latin1'));
}

function operators(line: string | PdfLine): string {
  const { text, heading, gap } = typeof line === 'string' ? { text: line } : line;
  const shown = `${gap === true ? 'T* ' : ''}(${text.replace(/[\\()]/g, '\\$&')}) Tj T*`;
  return heading === true ? `/F1 18 Tf ${shown} /F1 11 Tf` : shown;
}
