/// The parts of a `multipart/form-data` body (RFC 7578, RFC 2046 §5.1).
package struct MultipartBody: Sendable, Equatable {
    package struct Part: Sendable, Equatable {
        /// The form field's name.
        package var name: String
        /// The sender's name of the file; nil for a plain field.
        package var fileName: String?
        /// The place of the content in the body.
        package var content: Range<Int>
    }

    /// The most parts of a body.
    package static let maxParts = 16
    /// The most bytes of one part's headers.
    static let maxHeaderBytes = 4096

    package let parts: [Part]
    private let bytes: [UInt8]

    /// - Parameter contentType: the request's `Content-Type`, with the boundary.
    /// - Throws: 415 for another content type, 400 for a body that breaks the format.
    package init(_ bytes: [UInt8], contentType: String?) throws(APIError) {
        guard mediaType(contentType) == "multipart/form-data" else {
            throw APIError(.unsupportedMediaType, "the body must be multipart/form-data")
        }
        guard let boundary = MultipartBody.boundary(contentType ?? "") else {
            throw .badRequest("Content-Type needs a boundary of 1 to 70 characters, and not of dashes alone")
        }
        self.bytes = bytes
        parts = try MultipartBody.parts(bytes, delimiter: Array("--\(boundary)".utf8))
    }

    /// The content of the first part with this name.
    package func content(_ name: String) -> [UInt8]? {
        parts.first { $0.name == name }.map { Array(bytes[$0.content]) }
    }

    private static func boundary(_ contentType: String) -> String? {
        for parameter in contentType.split(separator: ";").dropFirst() {
            let text = parameter.trimmingPrefix { $0 == " " }
            guard text.lowercased().hasPrefix("boundary=") else { continue }
            var value = text.dropFirst("boundary=".count)
            if value.first == "\"", value.last == "\"", value.count > 1 { value = value.dropFirst().dropLast() }
            // RFC 2046 §5.1.1.
            // Dashes alone would be found in what ends them.
            return (1...70).contains(value.utf8.count) && value.contains { $0 != "-" } ? String(value) : nil
        }
        return nil
    }

    private static func parts(_ bytes: [UInt8], delimiter: [UInt8]) throws(APIError) -> [Part] {
        let line: [UInt8] = Array("\r\n".utf8)
        // The first delimiter may stand at the very beginning, all others behind a line's end.
        guard var next = ByteSearch(delimiter).first(in: bytes, from: 0) else {
            throw .badRequest("the body has no boundary")
        }
        next += delimiter.count
        let (blankLine, end) = (ByteSearch(line + line), ByteSearch(line + delimiter))
        var parts: [Part] = []
        while !starts(Array("--".utf8), at: next, in: bytes) {
            guard starts(line, at: next, in: bytes) else { throw .badRequest("a boundary does not end its line") }
            guard parts.count < maxParts else { throw .badRequest("the body has more than \(maxParts) parts") }
            let headers = next + line.count
            guard let blank = blankLine.first(in: bytes, from: next, upTo: headers + maxHeaderBytes) else {
                throw .badRequest("a part's headers do not end within \(maxHeaderBytes) bytes")
            }
            let start = blank + 4
            // An empty part's delimiter follows the blank line at once.
            guard let end = end.first(in: bytes, from: start - line.count) else {
                throw .badRequest("the last boundary is missing")
            }
            let text = String(decoding: bytes[min(headers, blank)..<blank], as: UTF8.self)
            if let (name, fileName) = disposition(text) {
                parts.append(Part(name: name, fileName: fileName, content: start..<max(start, end)))
            }
            next = end + line.count + delimiter.count
        }
        return parts
    }

    /// The names in a part's `Content-Disposition`.
    private static func disposition(_ headers: String) -> (name: String, fileName: String?)? {
        for line in headers.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == "content-disposition" else {
                continue
            }
            guard let name = parameter("name", of: line[colon...]) else { return nil }
            return (name, parameter("filename", of: line[colon...]))
        }
        return nil
    }

    private static func parameter(_ name: String, of line: Substring) -> String? {
        for parameter in line.split(separator: ";").dropFirst() {
            let text = parameter.trimmingPrefix { $0 == " " }
            guard text.lowercased().hasPrefix("\(name)=") else { continue }
            let value = text.dropFirst(name.count + 1)
            return value.first == "\"" ? String(value.dropFirst().prefix { $0 != "\"" }) : String(value)
        }
        return nil
    }

    private static func starts(_ pattern: [UInt8], at index: Int, in bytes: [UInt8]) -> Bool {
        index >= 0 && index + pattern.count <= bytes.count
            && bytes[index..<index + pattern.count].elementsEqual(pattern)
    }
}
