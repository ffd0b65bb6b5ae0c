/** Style sheets are imported as minified text, with their imports (scripts/build-web.mjs). */
declare module '*.css' {
  const text: string;
  export default text;
}
