// Pictures as files of their own: styles written in, so that they look the same without the page.

/** What a picture takes from the page's style sheet. */
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];

const SVG = "http://www.w3.org/2000/svg";

/** The picture as text of SVG, on the ground of the page. */
export function standalone(picture: SVGSVGElement): string {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const [from, to] = [all(picture), all(copy)];
  from.forEach((element, i) => {
    const styles = getComputedStyle(element);
    for (const name of STYLES) {
      const value = styles.getPropertyValue(name);
      if (value !== "") to[i]?.setAttribute(name, value);
    }
    to[i]?.removeAttribute("class");
  });
  const ground = document.createElementNS(SVG, "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(document.documentElement).getPropertyValue("--bg").trim() || "white");
  copy.prepend(ground);
  copy.setAttribute("xmlns", SVG);
  return new XMLSerializer().serializeToString(copy);
}

/** Text of SVG as pixels, twice as fine as on the page. */
export async function png(text: string, width: number, height: number, ratio = 2): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no picture of it"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

function all(root: Element): Element[] {
  return [root, ...root.querySelectorAll("*")];
}
