import Testing

@testable import Mixing

/// Members 1…n, joined in this order; `speaker` speaks, `presenter` presents.
func people(_ count: Int, speaker: Int? = nil, presenter: Int? = nil, pinned: Int? = nil) -> [LayoutMember] {
    (1...max(count, 1)).prefix(count).map {
        LayoutMember(
            id: "\($0)", isSpeaker: $0 == speaker, speakerRank: $0 == speaker ? 0 : nil, isPresenting: $0 == presenter,
            pinOrder: $0 == pinned ? 0 : nil, joinOrder: $0)
    }
}

func shipped(_ name: String) throws -> Layout { try #require(LayoutLibrary.builtIn[name]) }

/// The files of `layouts/`.
enum ShippedLayouts {
    static func path(_ name: String) -> String {
        let root = #filePath.split(separator: "/").dropLast(4)
        return "/" + root.joined(separator: "/") + "/layouts/\(name).json"
    }
}
