import Mixing

/// The tiles and other parts of one view. They follow the scene, and move only when the members, the speaker or the
/// layout changed. A value; a room whose output nobody takes has no more than this.
struct Arrangement {
    let view: ViewID
    private(set) var arranged = Arranged()
    private var members: [LayoutMember] = []
    private(set) var layout: Layout?
    private var viewer: String?
    private var names: Bool?

    init(of view: ViewID) { self.view = view }

    /// Takes over a new scene. Returns whether tiles moved.
    ///
    /// - Parameter aspect: the width of a participant's picture by its height.
    mutating func follow(_ scene: Scene, aspect: (String) -> Double) -> Bool {
        guard let wanted = scene.views[view], let layout = wanted.layout else { return false }
        let format = scene.format(of: view)
        let members = scene.layoutMembers(for: view) { Self.coarse(aspect($0)) }
        guard
            members != self.members || layout != self.layout || wanted.viewer != viewer || wanted.names != names
        else { return false }
        self.members = members
        self.layout = layout
        (viewer, names) = (wanted.viewer, wanted.names)
        let old = arranged.tiles
        arranged = layout.arrange(
            members, canvasWidth: format.width, canvasHeight: format.height, previous: old, viewer: viewer)
        if let names { for index in arranged.tiles.indices { arranged.tiles[index].showsName = names } }
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
                var tile = TilesInfo.Tile(
                    participant: PictureID.participant(of: $0.member), x: $0.x, y: $0.y, width: $0.width,
                    height: $0.height, label: $0.showsName)
                tile.isScreen = PictureID.isScreen($0.member)
                return tile
            })
    }
}
