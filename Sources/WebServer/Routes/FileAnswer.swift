import FoundationEssentials
import Glibc
import HTTPTypes
package import Hummingbird

/// A file of the disk as an answer, whole or in part, read in pieces.
package enum FileAnswer {
    /// - Throws: `APIError` 404 if there is no such file, 416 if nothing of the range exists.
    ///
    /// - Parameter place: held until the file is sent, or the connection ends.
    package static func make(
        path: String, type: String, downloadName: String, for asked: RouteRequest,
        holding place: ConcurrencyLimit.Permit
    ) async throws -> Response {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw APIError.notFound("the file is not there (any more)")
        }
        let size = Int(status.st_size)
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let changed = (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        // The file grows while it is recorded, so its tag consists of size and time.
        let tag = "\"\(String(size, radix: 36))-\(String(Int(changed * 1000), radix: 36))\""
        var headers: HTTPFields = [
            .contentType: type, .acceptRanges: "bytes", .eTag: tag, .cacheControl: "private, no-cache",
            .contentDisposition: "inline; filename=\"\(asciiName(downloadName))\"",
        ]
        if let known = asked.headers[.ifNoneMatch], known.contains(tag) {
            return Response(status: .notModified, headers: headers)
        }
        // RFC 9110 §13.1.5: the range is ignored when the file has changed since.
        let condition = asked.headers[.ifRange]
        let header = condition == nil || condition == tag ? asked.headers[.range] : nil
        switch ByteRange(header: header, size: size) {
        case .whole:
            let body = try await FileIO().loadFile(path: path, context: asked.context, chunkLength: chunkLength)
            return Response(status: .ok, headers: headers, body: body.holding(place))
        case .part(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound)/\(size)"
            let body = try await FileIO().loadFile(
                path: path, range: range, context: asked.context, chunkLength: chunkLength)
            return Response(status: .partialContent, headers: headers, body: body.holding(place))
        case .unsatisfiable:
            throw APIError(
                .rangeNotSatisfiable, "the file has \(size) bytes", headers: [.contentRange: "bytes */\(size)"])
        }
    }

    /// Bytes of a piece. A reader that takes less than one piece in `ConnectionGuard.stallLimit` (17 kbit/s) is
    /// disconnected.
    private static let chunkLength = 64 * 1024

    private static func asciiName(_ name: String) -> String {
        String(name.map { $0.isASCII && $0 != "\"" && $0 != "\\" && !$0.isNewline ? $0 : "_" })
    }
}

extension ResponseBody {
    /// The same body, which holds `place` until it is written.
    fileprivate consuming func holding(_ place: ConcurrencyLimit.Permit) -> ResponseBody {
        let body = self
        return ResponseBody(contentLength: body.contentLength) { writer in
            defer { withExtendedLifetime(place) {} }
            try await body.write(writer)
        }
    }
}
