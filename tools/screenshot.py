"""Take the picture of a report page for the README, with the system's Chromium.

python tools/screenshot.py REPORT.html OUTPUT.webp
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH, HEIGHT, MOST_BYTES = 1200, 900, 200_000


def main() -> None:
    page_path, output = Path(sys.argv[1]), Path(sys.argv[2])
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("this needs Chromium: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(page_path.resolve().as_uri())
        page.evaluate("() => window.voltReport.ready")
        bottom = page.locator("#marker-figures").bounding_box()
        whole = Image.open(io.BytesIO(page.screenshot(full_page=True)))
        browser.close()
    # From the answer to what another size gives.
    height = int(bottom["y"] + bottom["height"]) + 20
    picture = whole.convert("RGB").crop((0, 0, WIDTH, height))
    picture.save(output, quality=80, method=6)
    size = output.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{output} has {size:,} bytes, more than {MOST_BYTES:,}")
    print(f"{output}: {size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
