// Prints the labels and the number of links that mermaid's own parser reads from a diagram on stdin.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const modules = createRequire(process.env.MERMAID_NODE_MODULES + "/index.js");
const { JSDOM } = modules("jsdom");
const { window } = new JSDOM("<!DOCTYPE html><body></body>");
global.window = window;
global.document = window.document;
Object.defineProperty(global, "navigator", { value: window.navigator, configurable: true });
const mermaid = (await import(pathToFileURL(process.env.MERMAID_NODE_MODULES + "/mermaid/dist/mermaid.core.mjs"))).default;
const text = readFileSync(0, "utf8");
await mermaid.parse(text);
const diagram = await mermaid.mermaidAPI.getDiagramFromText(text);
const labels = [...diagram.db.getVertices().values()].map((vertex) => vertex.text);
console.log(JSON.stringify({ labels, links: diagram.db.getEdges().length }));
