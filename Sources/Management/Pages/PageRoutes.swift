import Hummingbird
import WebServer

/// The web client's pages.
extension RouteTable {
    package mutating func addPages(_ assets: WebAssets, frames: FramePolicy) {
        let pages = [
            ("/", "index.html"), ("/r/{room}", "index.html"), ("/watch/{room}", "watch.html"),
            ("/recordings", "library.html"),
        ]
        for (path, page) in pages {
            add(
                Route(.get, path, .everyone, nil) { asked in
                    try assets.answer(page, for: asked, frames: frames)
                })
        }
        add(
            Route(.get, "/assets/{name}", .everyone, nil, placement: .pageFile) { asked in
                try assets.answer(asked.parameter("name"), for: asked, frames: frames)
            })
        add(Route(.get, "/robots.txt", .everyone, nil) { _ in .text("User-agent: *\nDisallow: /\n") })
    }
}
