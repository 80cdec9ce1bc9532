package import Streaming

/// Where an input comes from.
package enum InputAddress: Hashable, Sendable {
    /// The path of a file below `inputs.directory`.
    case file(String)
    case url(MediaURL)

    /// The schemes of which inputs can be; `file` stands for paths without one.
    package static let schemes = ["srt", "rtmp", "rtsp", "http", "https", "file"]

    /// - Throws: for a text that is neither a path below a directory nor a URL.
    package init(_ text: String) throws(StreamingError) {
        guard text.contains("://") else {
            try Self.checkPath(text)
            self = .file(text)
            return
        }
        if text.lowercased().hasPrefix("file:") { throw Self.badPath }
        guard let url = MediaURL(text) else {
            throw .refused("url: this is no URL; what is neither a letter nor a digit may have to be written as %XX.")
        }
        self = .url(url)
    }

    private static let badPath = StreamingError.refused(
        "url: a file is named by its path below inputs.directory, such as clips/intro.mp4, without . and .. and without a scheme."
    )

    /// A path must stay below the directory as it is written; links are looked at when it is opened.
    private static func checkPath(_ text: String) throws(StreamingError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isPlain = parts.allSatisfy { part in
            !part.isEmpty && part != "." && part != ".." && !part.utf8.contains { $0 < 32 || $0 == 127 || $0 == 92 }
        }
        guard isPlain, text.utf8.count <= MediaURL.maxLength, parts.first?.contains(":") == false else { throw badPath }
    }

    package var scheme: String {
        switch self {
        case .file: "file"
        case .url(let url): url.scheme
        }
    }

    /// Whether the source sends at its own pace, and what is not read in time is late or lost.
    package var isLive: Bool { ["srt", "rtmp", "rtsp"].contains(scheme) }

    /// As it may be shown and logged.
    package var redacted: String {
        switch self {
        case .file(let path): path
        case .url(let url): url.redacted
        }
    }
}
