import HTTPTypes
package import Hummingbird
package import WebFiles
package import WebServer

/// The web client's files, built into the binary.
package struct WebAssets: Sendable {
    private struct Asset: Sendable {
        var file: WebFile
        var type: String
        /// The smallest first. Shared by all answers without a copy.
        package var contents: [(coding: ContentCoding, bytes: ByteBuffer)]

        init(_ file: WebFile) {
            self.file = file
            type = WebAssets.type(of: file.name)
            let compressed: [(ContentCoding, [UInt8])] = [(.brotli, file.brotli), (.gzip, file.gzip)]
            let smaller = compressed.filter { !$0.1.isEmpty && $0.1.count < file.content.count }
            contents = (smaller + [(.identity, file.content)]).map { ($0, ByteBuffer(bytes: $1)) }
        }
    }

    private let assets: [String: Asset]

    /// The built-in files.
    package static let builtIn = WebAssets(WebFile.all)

    package init(_ files: [WebFile]) {
        assets = Dictionary(files.map { ($0.name, Asset($0)) }, uniquingKeysWith: { first, _ in first })
    }

    package func has(_ name: String) -> Bool { assets[name] != nil }

    /// The file in a coding that the client accepts, or 304 where the browser has it already.
    ///
    /// - Parameter frames: the sites that may show the file in a frame, if it is a page.
    package func answer(_ name: String, for asked: RouteRequest, frames: FramePolicy) throws -> Response {
        guard let asset = assets[name] else {
            // Another version of the server may have it, behind the same address: nobody keeps the answer, as of all errors.
            throw APIError(.notFound, "there is no file \(name)")
        }
        let chosen = ContentCoding.choose(asked.headers[.acceptEncoding], of: asset.contents.map(\.coding))
        // The encodings of a file differ, and so do their tags (RFC 9110 §8.8.3.3).
        let tag = "\"\(asset.file.digest)\(chosen == .identity ? "" : "-\(chosen.rawValue)")\""
        var headers: HTTPFields = [
            .contentType: asset.type, .eTag: tag,
            .cacheControl: asset.file.isHashed ? "public, max-age=31536000, immutable" : "no-cache",
            .vary: "Accept-Encoding",
        ]
        if asset.type.hasPrefix("text/html") {
            frames.add(to: &headers, scripts: asset.file.scriptDigests)
            headers[.referrerPolicy] = "no-referrer"
            headers[.permissionsPolicy] = "camera=(self), microphone=(self), display-capture=(self), fullscreen=(self)"
        }
        if let known = asked.headers[.ifNoneMatch], known.contains(tag) {
            return Response(status: .notModified, headers: headers)
        }
        if chosen != .identity { headers[.contentEncoding] = chosen.rawValue }
        let bytes = asset.contents.first { $0.coding == chosen }?.bytes ?? ByteBuffer()
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }

    /// All content comes from this server. `blob:` and `data:` are for previews and icons. `FramePolicy` adds who may
    /// frame the page, and the page's own script.
    static let contentSecurityPolicy =
        "default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob: mediastream:; connect-src 'self'; "
        + "style-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'"

    package static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "json": "application/json; charset=utf-8"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        // The Web Application Manifest's own type.
        case "webmanifest": "application/manifest+json"
        // TypeScript's declarations have no registered type.
        case "ts": "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}

extension HTTPField.Name {
    static let permissionsPolicy = HTTPField.Name("Permissions-Policy") ?? .accept
}
