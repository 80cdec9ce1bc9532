import CWeb
import Cryptography
import HTTPTypes
import Hummingbird

/// The web client's files, built into the binary.
struct WebAssets: Sendable {
    struct Asset: Sendable {
        /// Shared by all answers without a copy.
        var content: ByteBuffer
        var type: String
        /// A digest of the content.
        var tag: String
    }

    private let assets: [String: Asset]

    /// The built-in files.
    static let builtIn = WebAssets(
        Dictionary(
            (0..<web_asset_count()).map { index in
                let asset = web_asset_at(index)
                return (
                    String(cString: asset.name), [UInt8](UnsafeBufferPointer(start: asset.bytes, count: asset.count))
                )
            }, uniquingKeysWith: { first, _ in first }))

    init(_ files: [String: [UInt8]]) {
        assets = files.reduce(into: [:]) { assets, file in
            let digest = HashFunction.sha256.digest(file.value).prefix(12)
            let tag = "\"" + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "\""
            assets[file.key] = Asset(
                content: ByteBuffer(bytes: file.value), type: WebAssets.type(of: file.key), tag: tag)
        }
    }

    var names: [String] { assets.keys.sorted() }

    subscript(name: String) -> Asset? { assets[name] }

    /// The file, or 304 where the browser has it already.
    ///
    /// - Parameter frames: the sites that may show the file in a frame, if it is a page.
    func answer(_ name: String, for asked: RouteRequest, frames: FramePolicy) throws -> Response {
        guard let asset = assets[name] else { throw APIError.notFound("there is no file \(name)") }
        var headers: HTTPFields = [.contentType: asset.type, .eTag: asset.tag, .cacheControl: "no-cache"]
        if asset.type.hasPrefix("text/html") {
            frames.add(to: &headers)
            headers[.referrerPolicy] = "no-referrer"
            headers[.permissionsPolicy] = "camera=(self), microphone=(self), display-capture=(self), fullscreen=(self)"
        }
        if let known = asked.headers[.ifNoneMatch], known.contains(asset.tag) {
            return Response(status: .notModified, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: asset.content))
    }

    /// All content comes from this server. `blob:` and `data:` are for previews and icons. `FramePolicy` adds who may
    /// frame the page.
    static let contentSecurityPolicy =
        "default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob: mediastream:; connect-src 'self' ws: wss:; "
        + "style-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'"

    static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "js", "mjs": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "json", "map": "application/json; charset=utf-8"
        case "webmanifest": "application/manifest+json; charset=utf-8"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "ico": "image/x-icon"
        case "woff2": "font/woff2"
        case "wasm": "application/wasm"
        case "txt": "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}

extension HTTPField.Name {
    static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .accept
    static let permissionsPolicy = HTTPField.Name("Permissions-Policy") ?? .accept
}
