import Mixing

/// The tiles and other parts of one view. They follow the scene, and move only when the members, the speaker or the layout changed. A
/// value; a room whose output nobody takes has no more than this.
struct Arrangement {
    let view: ViewID
    private(set) var arranged = Arranged()
    private var members: [LayoutMember] = []
    private(set) var layout: Layout?
    private var viewer: String?

    init(of view: ViewID) { self.view = view }

    /// Takes over a new scene. Returns whether tiles moved.
    ///
    /// - Parameter aspect: the width of a participant's picture by its height.
    mutating func follow(_ scene: Scene, aspect: (String) -> Double) -> Bool {
        guard let layout = scene.views[view]?.layout else { return false }
        let viewer = scene.views[view]?.viewer
        let members = scene.layoutMembers(for: view) { Self.coarse(aspect($0)) }
        guard members != self.members || layout != self.layout || viewer != self.viewer else { return false }
        self.members = members
        self.layout = layout
        self.viewer = viewer
        let old = arranged.tiles
        arranged = layout.arrange(
            members, canvasWidth: scene.width, canvasHeight: scene.height, previous: old, viewer: viewer)
        return arranged.tiles != old
    }

    /// Senders change their size in small steps as their link changes, so the aspect ratio is rounded to eighths: only
    /// larger changes may move tiles.
    private static func coarse(_ ratio: Double) -> Double { (ratio * 8).rounded() / 8 }

    /// The tiles as endpoints announce them, on a canvas of this size.
    func info(width: Int, height: Int) -> TilesInfo {
        TilesInfo(
            width: width, height: height,
            tiles: arranged.tiles.map {
                TilesInfo.Tile(
                    participant: $0.member, x: $0.x, y: $0.y, width: $0.width, height: $0.height, label: $0.showsName)
            })
    }
}
