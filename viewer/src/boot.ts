// Unpacks the application, which is the larger part of a page, and runs it. The page's policy has the hash of what
// comes out, so nothing else can be put in its place.

async function boot(): Promise<void> {
  const element = document.getElementById("lifetrace-app")!;
  const packed = Uint8Array.from(atob(element.textContent!), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.body.append(script);
}

boot().catch((error: unknown) => {
  document.getElementById("app")!.textContent = `This browser cannot show the page: ${error instanceof Error ? error.message : error}`;
});
