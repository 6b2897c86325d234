/** esbuild bundles the file as its bytes. */
declare module '*.wasm' {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}

/** Node.js has WebAssembly, but only the types of browsers declare it. */
declare namespace WebAssembly {
  const Module: new (bytes: Uint8Array<ArrayBuffer>) => Module;
}
