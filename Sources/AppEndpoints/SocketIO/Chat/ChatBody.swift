import Conference
import WebServer

/// The members of a chat message's `bodies`, with the types of the apps' models.
///
/// | member | Android (fastjson 1.1.67) | iOS (YYModel) | of |
/// |---|---|---|---|
/// | `type` | enum `txt`, `img`, `audio`, `loc` | string | all |
/// | `msg` | String | string | `txt` |
/// | `size` | `HashMap<String, Integer>`, read without a check | dictionary | `img` only |
/// | `fileName` | String: the file's name in the app's folder | string | `img`, `audio` |
/// | `duration` | long | number | `audio` |
/// | `latitude`, `longitude` | double | number | `loc` |
/// | `locationName`, `detailLocationName` | String | string | `loc` |
/// | `fileRemotePath`, `thumbnailRemotePath` | String | string | all but `txt`; the server's |
enum ChatBody {
    /// - Parameters:
    ///   - given: the client's members.
    ///   - file: the picture's or the recording's bytes.
    static func members(
        of kind: ChatEnvelope.Kind, from given: [String: JSONValue], _ file: BinaryMessage?
    ) -> [String: JSONValue] {
        var members: [String: JSONValue] = ["type": .string(kind.rawValue)]
        // The apps' screens read a text without asking whether it is there.
        func keepText(_ key: String) {
            if case .string(let text)? = given[key] { members[key] = .string(text) } else { members[key] = "" }
        }
        switch kind {
        case .text: keepText("msg")
        case .picture:
            members["fileName"] = .string(fileName(given["fileName"]))
            let size = self.size(given["size"]) ?? file.flatMap { self.size(of: $0) } ?? unknownSize
            members["size"] = ["width": .integer(size.width), "height": .integer(size.height)]
        case .audio:
            members["fileName"] = .string(fileName(given["fileName"]))
            members["duration"] = .integer(given["duration"]?.whole ?? 0)
        case .location:
            for key in ["latitude", "longitude"] {
                switch given[key] {
                case .integer?, .number?: members[key] = given[key]
                default: members[key] = 0
                }
            }
            keepText("locationName")
            keepText("detailLocationName")
        }
        return members
    }

    /// The apps write files under this name in their folder: it has no path in it.
    private static func fileName(_ given: JSONValue?) -> String {
        guard case .string(let text)? = given else { return "file" }
        let name = text.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? ""
        let isPath = name.isEmpty || name == "." || name == ".." || name.utf8.contains(0)
        return isPath ? "file" : String(name.prefix(128))
    }

    // MARK: The size of a picture

    /// Of a picture whose header names none: the apps show it within this square.
    private static let unknownSize = (width: 300, height: 300)
    private static let sides = 1...65_535
    /// The most bytes that are searched for a picture's size: its profile and its preview may come first.
    private static let headerBytes = 1 << 18

    /// As the sender's app names it, which knows how the picture is turned. The iOS app's numbers have fractions, on
    /// which the Android app fails.
    private static func size(_ given: JSONValue?) -> (width: Int, height: Int)? {
        guard let width = given?["width"]?.whole, let height = given?["height"]?.whole,
            sides.contains(width), sides.contains(height)
        else { return nil }
        return (width, height)
    }

    private static func size(of file: BinaryMessage) -> (width: Int, height: Int)? {
        guard let size = ChatPicture.Size(file.prefix(headerBytes)), sides.contains(size.width),
            sides.contains(size.height)
        else { return nil }
        return (size.width, size.height)
    }
}

extension JSONValue {
    /// A number, rounded.
    package var whole: Int? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int(exactly: value.rounded())
        default: nil
        }
    }
}
